/** Main's half of the server thread. Answers the thread's calls (`MainApi`) over a port that it creates at each start. */
import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { MainApi, ServerApi } from '../../shared/contracts/server/calls.ts';
import type { ServerWorkerData, ServingKeyPair } from '../../shared/contracts/server/settings.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

/** The part of the server's worker data that the composition root provides. */
export type ServerSettings = Settings<ServerWorkerData, 'main' | 'metricsSegments' | 'servingCertificate'>;

export interface ServerThreadOptions extends ThreadDependencies {
  readonly settings: ServerSettings;
  /** Without an API server there are no reviews: their calls reject. */
  readonly mainApi: Omit<MainApi, Reviews> & Partial<Pick<MainApi, Reviews>>;
}
type Reviews = 'reviewToken' | 'reviewAccess';

const noReview = () => Promise.reject(new Error('there is no API server to ask'));

/** State that survives a restart of the thread. */
interface Current {
  /** Main's end of the running thread's port. */
  port: MessagePort | null;
  certificate: ServingKeyPair | null;
}

const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 2 };

export class ServerThread {
  readonly thread: Thread<ServerApi>;
  readonly #current: Current;

  private constructor(thread: Thread<ServerApi>, current: Current) {
    this.thread = thread;
    this.#current = current;
  }

  static start({ state, logger, settings, mainApi }: ServerThreadOptions): ServerThread {
    const current: Current = { port: null, certificate: null };
    const thread = startThread<ServerApi, ServerWorkerData>({
      name: 'server',
      resourceLimits,
      state,
      logger,
      onStart: () => {
        const { port1, port2 } = new MessageChannel();
        expose({ reviewToken: noReview, reviewAccess: noReview, ...mainApi }, endpoint(port1));
        current.port = port1;
        return { ...settings, metricsSegments: state.metricsSegments(), servingCertificate: current.certificate, main: port2 };
      },
      onClosed: () => current.port?.close(),
    });
    return new ServerThread(thread, current);
  }

  addresses(): ReturnType<ServerApi['addresses']> {
    return this.thread.call((api) => api.addresses(), { retry: true });
  }
  /** Sets a certificate from the cluster, in PEM. The next handshake uses it; a restarted thread gets it with its worker data. */
  async setServingCertificate(certificate: ServingKeyPair): Promise<void> {
    this.#current.certificate = certificate;
    await this.thread.call((api) => api.setServingCertificate(certificate), { retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
