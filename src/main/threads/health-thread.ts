/** Main's half of the health thread. */
import type { HealthApi, HealthWorkerData } from '../../shared/contracts/health.ts';
import type { ListenAddress } from '../../shared/contracts/server/settings.ts';
import { entryUrl } from './entry-url.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface HealthThreadOptions extends ThreadDependencies {
  readonly settings: Settings<HealthWorkerData>;
}

/** Its 256 connections, each with the largest headers, fill half of it. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 2 };

export class HealthThread {
  readonly thread: Thread<HealthApi>;

  private constructor(thread: Thread<HealthApi>) {
    this.thread = thread;
  }

  static start({ state, logger, settings }: HealthThreadOptions): HealthThread {
    const common = state.workerData('health');
    const thread = new Thread<HealthApi>({
      name: 'health',
      entry: entryUrl('health'),
      onStart: () => ({ workerData: { ...common, ...settings } satisfies HealthWorkerData }),
      resourceLimits,
      threadStatuses: state.threadStatuses,
      heartbeatRow: common.heartbeatRow,
      watchdog: state.watchdog,
      logger,
      finish: (api) => api.close(),
    });
    return new HealthThread(thread);
  }

  address(): Promise<ListenAddress | null> {
    return this.thread.call((api) => api.address(), { retry: true });
  }
  resetMetrics(): Promise<void> {
    return this.thread.call((api) => api.resetMetrics(), { retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
