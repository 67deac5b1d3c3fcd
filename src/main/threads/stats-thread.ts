/** Main's half of the stats thread. */
import type { MachineInfo, StatsApi, StatsWorkerData } from '../../shared/contracts/stats.ts';
import { entryUrl } from './entry-url.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface StatsThreadOptions extends ThreadDependencies {
  readonly settings: Settings<StatsWorkerData, 'runtimeCgroupDriver'>;
}

const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };

export class StatsThread {
  readonly thread: Thread<StatsApi>;

  private constructor(thread: Thread<StatsApi>) {
    this.thread = thread;
  }

  static start({ state, logger, settings }: StatsThreadOptions): StatsThread {
    const common = { ...state.workerData('stats'), runtimeCgroupDriver: state.runtimeCgroupDriver };
    return new StatsThread(
      new Thread<StatsApi>({
        name: 'stats',
        entry: entryUrl('stats'),
        onStart: () => ({ workerData: { ...common, ...settings } satisfies StatsWorkerData }),
        resourceLimits,
        threadStatuses: state.threadStatuses,
        heartbeatRow: common.heartbeatRow,
        watchdog: state.watchdog,
        logger,
        finish: (api) => api.close(),
      }),
    );
  }

  machineInfo(): Promise<MachineInfo> {
    return this.thread.call((api) => api.machineInfo(), { retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
