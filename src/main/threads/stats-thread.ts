/** Main's half of the stats thread. Answers the thread's calls (`StatsMainApi`) over a port that it creates at each start. */
import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Listeners } from '../../shared/concurrency/listeners.ts';
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type {
  MachineInfo,
  MemoryPressure,
  PodCgroupsAppeared,
  StatsApi,
  StatsMainApi,
  StatsNotification,
  StatsWorkerData,
  SystemOOM,
} from '../../shared/contracts/stats.ts';
import { endpoint } from '../../shared/thread/endpoint.ts';
import { EventChannel } from './event-channel.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface StatsThreadOptions extends ThreadDependencies {
  readonly settings: Settings<StatsWorkerData, 'runtimeCgroupDriver' | 'events' | 'main'>;
}

/** The listeners of the thread's notifications. A notification that comes before its first listener is dropped. */
interface StatsListeners {
  /** The thread reads the kernel's log seconds after its start, when main has loaded its parts. */
  readonly systemOOM: Listeners<[SystemOOM]>;
  /** The kernel's notifications of memory pressure, at most one a second. */
  readonly memoryPressure: Listeners<[MemoryPressure]>;
  /** Cgroups that appear. Main lists all cgroups when it begins to clean up. */
  readonly podCgroups: Listeners<[PodCgroupsAppeared]>;
}

/** A thread that starts gets the newest settings. */
interface Current {
  memoryThresholds: StatsWorkerData['memoryThresholds'];
  /** Main's end of the running thread's port. */
  port: MessagePort | null;
  /** The volume manager starts after this thread. */
  volumeStats: StatsMainApi['volumeStats'];
}

const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export class StatsThread {
  readonly thread: Thread<StatsApi>;
  readonly listeners: StatsListeners;
  readonly #current: Current;

  private constructor(thread: Thread<StatsApi>, listeners: StatsListeners, current: Current) {
    this.thread = thread;
    this.listeners = listeners;
    this.#current = current;
  }

  static start({ state, logger, settings }: StatsThreadOptions): StatsThread {
    const { runtimeCgroupDriver } = state;
    const current: Current = {
      memoryThresholds: settings.memoryThresholds,
      port: null,
      volumeStats: async () => ({ outcome: 'absent' }),
    };
    const listeners: StatsListeners = { systemOOM: new Listeners(), memoryPressure: new Listeners(), podCgroups: new Listeners() };
    const receive = (event: StatsNotification) => {
      if (event.type === 'systemOOM') listeners.systemOOM.notify(event);
      else if (event.type === 'memoryPressure') listeners.memoryPressure.notify(event);
      else listeners.podCgroups.notify(event);
    };
    const events = new EventChannel<StatsNotification>(receive, logger);
    const thread = startThread<StatsApi, StatsWorkerData>({
      name: 'stats',
      resourceLimits,
      state,
      logger,
      onStart: () => {
        const { port1, port2 } = new MessageChannel();
        expose({ volumeStats: (request) => current.volumeStats(request) } satisfies StatsMainApi, endpoint(port1));
        current.port = port1;
        return { ...settings, memoryThresholds: current.memoryThresholds, runtimeCgroupDriver, events: events.open(), main: port2 };
      },
      onClosed: () => {
        events.close();
        current.port?.close();
      },
    });
    return new StatsThread(thread, listeners, current);
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
  /** Replaces the thresholds, also of threads that start later. */
  setMemoryThresholds(thresholds: StatsWorkerData['memoryThresholds']): Promise<void> {
    this.#current.memoryThresholds = thresholds;
    return this.thread.call((api) => api.setMemoryThresholds(thresholds), { retry: true });
  }
  /** From now on the drivers of CSI volumes are asked what the volumes use. */
  setVolumeStats(volumeStats: StatsMainApi['volumeStats']): void {
    this.#current.volumeStats = volumeStats;
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
