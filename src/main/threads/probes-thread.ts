/** Main's half of the probes thread. */
import type { ProbeResult, ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import { entryUrl } from './entry-url.ts';
import { EventChannel } from './event-channel.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface ProbesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ProbesWorkerData, 'results'>;
  readonly onResults: (results: readonly ProbeResult[]) => void;
}

const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };

export class ProbesThread {
  readonly thread: Thread<ProbesApi>;
  readonly #results: EventChannel<readonly ProbeResult[]>;

  private constructor(thread: Thread<ProbesApi>, results: EventChannel<readonly ProbeResult[]>) {
    this.thread = thread;
    this.#results = results;
  }

  static start({ state, logger, settings, onResults }: ProbesThreadOptions): ProbesThread {
    const results = new EventChannel(onResults, logger);
    const common = state.workerData('probes');
    const thread = new Thread<ProbesApi>({
      name: 'probes',
      entry: entryUrl('probes'),
      onStart: () => {
        const port = results.open();
        return { workerData: { ...common, ...settings, results: port } satisfies ProbesWorkerData, transferList: [port] };
      },
      resourceLimits,
      threadStatuses: state.threadStatuses,
      heartbeatRow: common.heartbeatRow,
      watchdog: state.watchdog,
      logger,
      finish: (api) => api.close(),
    });
    return new ProbesThread(thread, results);
  }

  async close(): Promise<void> {
    await this.thread.close();
    this.#results.close();
  }
}
