/** Main's half of the health thread. */
import type { HealthApi, HealthWorkerData } from '../../shared/contracts/health.ts';
import type { ListenAddress } from '../../shared/contracts/server/settings.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface HealthThreadOptions extends ThreadDependencies {
  readonly settings: Settings<HealthWorkerData>;
}

/** The thread's 256 connections, each with headers of the maximum size, fill half of the heap. */
const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 2 };

export class HealthThread {
  readonly thread: Thread<HealthApi>;

  private constructor(thread: Thread<HealthApi>) {
    this.thread = thread;
  }

  static start({ state, logger, settings }: HealthThreadOptions): HealthThread {
    return new HealthThread(
      startThread<HealthApi, HealthWorkerData>({ name: 'health', resourceLimits, state, logger, onStart: () => settings }),
    );
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
