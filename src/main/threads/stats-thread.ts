/** Main's half of the stats thread. */
import type { MachineInfo, StatsApi, StatsWorkerData } from '../../shared/contracts/stats.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

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
    const { runtimeCgroupDriver } = state;
    return new StatsThread(
      startThread<StatsApi, StatsWorkerData>({
        name: 'stats',
        resourceLimits,
        state,
        logger,
        onStart: () => ({ ...settings, runtimeCgroupDriver }),
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
