/** Main's half of the probes thread. */
import { Listeners } from '../../shared/concurrency/listeners.ts';
import { encodeFamilies, toBytes } from '../../shared/metrics/exposition/encode.ts';
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type { ProbedPod, ProbeNotification, ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { EventChannel } from './event-channel.ts';
import { LazyThread } from './lazy-thread.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface ProbesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ProbesWorkerData, 'results'>;
}

/** 4 MB are enough for 100 pods. The rest is for hostile pods: 500 of them with 512 KB of probes each (main/probes/to-probed-pod.ts). */
const resourceLimits = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 2 };

export class ProbesThread {
  /** Notified at each start and restart of the thread, which then knows no pod. */
  readonly starts = new Listeners();
  readonly notifications = new Listeners<[ProbeNotification]>();
  readonly #lazy: LazyThread<ProbesApi>;

  private constructor(options: ProbesThreadOptions) {
    this.#lazy = new LazyThread(() => start(options, this));
  }

  /** The thread starts with its first pod: many nodes have no probes. */
  static create(options: ProbesThreadOptions): ProbesThread {
    return new ProbesThread(options);
  }

  /** Starts the thread at the first use. */
  get thread(): Thread<ProbesApi> {
    return this.#lazy.thread;
  }

  setPods(pods: readonly ProbedPod[]): Promise<void> {
    return this.thread.call((api) => api.setPods(pods));
  }
  async removePods(uids: readonly PodUID[]): Promise<void> {
    await this.#lazy.started?.call((api) => api.removePods(uids));
  }

  /** The metrics of the probes, as text. */
  async renderMetrics(format: MetricsFormat): Promise<Uint8Array> {
    const { started } = this.#lazy;
    return started ? started.call((api) => api.renderMetrics(format)) : toBytes([...encodeFamilies([], format)]);
  }

  close(): Promise<void> {
    return this.#lazy.close();
  }
}

function start(
  { state, logger, settings }: ProbesThreadOptions,
  { starts, notifications }: Pick<ProbesThread, 'starts' | 'notifications'>,
): Thread<ProbesApi> {
  const results = new EventChannel<ProbeNotification>((notification) => notifications.notify(notification), logger);
  return startThread<ProbesApi, ProbesWorkerData>({
    name: 'probes',
    resourceLimits,
    state,
    logger,
    onStart: () => {
      starts.notify();
      return { ...settings, results: results.open() };
    },
    onClosed: () => results.close(),
  });
}
