/** Main's half of the server thread: it answers what only main knows (`MainApi`), over a port that is made at each birth. */
import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ServerApi, MainApi } from '../../shared/contracts/server/calls.ts';
import type { ServerWorkerData, ServingCertificate } from '../../shared/contracts/server/settings.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { entryUrl } from './entry-url.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

/** What the composition root states of the server's birth. */
export type ServerSettings = Settings<ServerWorkerData, 'main' | 'metricsSegments' | 'servingCertificate'>;

export interface ServerThreadOptions extends ThreadDependencies {
  readonly settings: ServerSettings;
  /** A kubelet without an API server has no reviews to give: whoever asks for one is told so. */
  readonly mainApi: Omit<MainApi, Reviews> & Partial<Pick<MainApi, Reviews>>;
}
type Reviews = 'reviewToken' | 'reviewAccess';

const noReview = () => Promise.reject(new Error('there is no API server to ask'));

/** Of the thread that lives now. */
interface Current {
  port: MessagePort | null;
  certificate: ServingCertificate | null;
}

const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };

export class ServerThread {
  readonly thread: Thread<ServerApi>;
  readonly #current: Current;

  private constructor(thread: Thread<ServerApi>, current: Current) {
    this.thread = thread;
    this.#current = current;
  }

  static start({ state, logger, settings, mainApi }: ServerThreadOptions): ServerThread {
    const common = state.workerData('server');
    const current: Current = { port: null, certificate: null };
    const thread = new Thread<ServerApi>({
      name: 'server',
      entry: entryUrl('server'),
      onStart: () => {
        const { port1, port2 } = new MessageChannel();
        expose({ reviewToken: noReview, reviewAccess: noReview, ...mainApi }, endpoint(port1));
        current.port = port1;
        const workerData: ServerWorkerData = {
          ...common,
          ...settings,
          metricsSegments: state.metricsSegments(),
          servingCertificate: current.certificate,
          main: port2,
        };
        return { workerData, transferList: [port2] };
      },
      resourceLimits,
      threadStatuses: state.threadStatuses,
      heartbeatRow: common.heartbeatRow,
      watchdog: state.watchdog,
      logger,
      finish: (api) => api.close(),
    });
    return new ServerThread(thread, current);
  }

  addresses(): ReturnType<ServerApi['addresses']> {
    return this.thread.call((api) => api.addresses(), { retry: true });
  }
  /** A certificate from the cluster, PEM: taken by the next handshake, and told again to a thread that is born anew. */
  async setServingCertificate(certificate: ServingCertificate): Promise<void> {
    this.#current.certificate = certificate;
    await this.thread.call((api) => api.setServingCertificate(certificate), { retry: true });
  }
  async close(): Promise<void> {
    await this.thread.close();
    this.#current.port?.close();
  }
}
