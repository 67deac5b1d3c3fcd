/** Main's half of the stats thread. */
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type {
  MachineInfo,
  MemoryPressure,
  PodCgroupsAppeared,
  StatsApi,
  StatsNotification,
  StatsWorkerData,
  SystemOOM,
} from '../../shared/contracts/stats.ts';
import { EventChannel } from './event-channel.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface StatsThreadOptions extends ThreadDependencies {
  readonly settings: Settings<StatsWorkerData, 'runtimeCgroupDriver' | 'events'>;
}

interface Receiver {
  onSystemOOM: ((event: SystemOOM) => void) | null;
  onMemoryPressure: ((event: MemoryPressure) => void) | null;
  onPodCgroups: ((event: PodCgroupsAppeared) => void) | null;
}

/** A thread that starts gets the newest settings. */
interface Current {
  memoryThresholds: StatsWorkerData['memoryThresholds'];
}

const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export class StatsThread {
  readonly thread: Thread<StatsApi>;

  readonly #receiver: Receiver;
  readonly #current: Current;

  private constructor(thread: Thread<StatsApi>, receiver: Receiver, current: Current) {
    this.thread = thread;
    this.#current = current;
    this.#receiver = receiver;
  }

  static start({ state, logger, settings }: StatsThreadOptions): StatsThread {
    const { runtimeCgroupDriver } = state;
    const current = { memoryThresholds: settings.memoryThresholds };
    const receiver: Receiver = { onSystemOOM: null, onMemoryPressure: null, onPodCgroups: null };
    const receive = (event: StatsNotification) => {
      if (event.type === 'systemOOM') receiver.onSystemOOM?.(event);
      else if (event.type === 'memoryPressure') receiver.onMemoryPressure?.(event);
      else receiver.onPodCgroups?.(event);
    };
    const events = new EventChannel<StatsNotification>(receive, logger);
    const thread = startThread<StatsApi, StatsWorkerData>({
      name: 'stats',
      resourceLimits,
      state,
      logger,
      onStart: () => ({ ...settings, memoryThresholds: current.memoryThresholds, runtimeCgroupDriver, events: events.open() }),
      onClosed: () => events.close(),
    });
    return new StatsThread(thread, receiver, current);
  }

  /** Sets the only receiver. The thread reads the kernel's log seconds after its start, when main has loaded its parts. */
  setReceiver(onSystemOOM: (event: SystemOOM) => void): void {
    this.#receiver.onSystemOOM = onSystemOOM;
  }

  /** Sets the only receiver of the kernel's notifications of memory pressure, one a second at most. */
  setPressureReceiver(onMemoryPressure: (event: MemoryPressure) => void): void {
    this.#receiver.onMemoryPressure = onMemoryPressure;
  }

  /** Sets the only receiver of cgroups that appear. Reports before that are dropped: main lists all cgroups when it begins to clean up. */
  setPodCgroupReceiver(onPodCgroups: (event: PodCgroupsAppeared) => void): void {
    this.#receiver.onPodCgroups = onPodCgroups;
  }

  machineInfo(): Promise<MachineInfo> {
    return this.thread.call((api) => api.machineInfo(), { retry: true });
  }
  runtimeMetrics(format: MetricsFormat): Promise<Uint8Array | undefined> {
    return this.thread.call((api) => api.runtimeMetrics(format));
  }
  sampleNow(): Promise<void> {
    return this.thread.call((api) => api.sampleNow(), { retry: true });
  }
  /** Also of threads that start later. */
  setMemoryThresholds(thresholds: StatsWorkerData['memoryThresholds']): Promise<void> {
    this.#current.memoryThresholds = thresholds;
    return this.thread.call((api) => api.setMemoryThresholds(thresholds), { retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
