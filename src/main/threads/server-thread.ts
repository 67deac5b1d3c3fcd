/** Main's half of the server thread: it answers what only main knows (`ServerUpcalls`), over a port that is made at each birth. */
import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ServerApi, ServerBirth, ServerUpcalls } from '../../shared/contracts/server.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { entryUrl } from './entry-url.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface ServerThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ServerBirth, 'main' | 'metricsSegments'>;
  readonly upcalls: ServerUpcalls;
}

const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };

export class ServerThread {
  readonly thread: Thread<ServerApi>;
  readonly #upcalls: { port: MessagePort | null };

  private constructor(thread: Thread<ServerApi>, upcalls: { port: MessagePort | null }) {
    this.thread = thread;
    this.#upcalls = upcalls;
  }

  static start({ state, logger, settings, upcalls }: ServerThreadOptions): ServerThread {
    const common = state.birth('server');
    const current: { port: MessagePort | null } = { port: null };
    const thread = new Thread<ServerApi>({
      name: 'server',
      entry: entryUrl('server'),
      onBirth: () => {
        const { port1, port2 } = new MessageChannel();
        expose(upcalls, endpoint(port1));
        current.port = port1;
        const workerData: ServerBirth = { ...common, ...settings, metricsSegments: state.metricsSegments(), main: port2 };
        return { workerData, transferList: [port2] };
      },
      resourceLimits,
      lives: state.lives,
      heartbeatRow: common.heartbeatRow,
      logger,
      finish: (api) => api.close(),
    });
    return new ServerThread(thread, current);
  }

  addresses(): ReturnType<ServerApi['addresses']> {
    return this.thread.call((api) => api.addresses(), { retry: true });
  }
  async close(): Promise<void> {
    await this.thread.close();
    this.#upcalls.port?.close();
  }
}
