/** Main's half of the probes thread. */
import type { MetricsFormat } from '../../shared/metrics/exposition/negotiate.ts';
import type { ProbedPod, ProbeNotification, ProbesApi, ProbesWorkerData } from '../../shared/contracts/probes.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { EventChannel } from './event-channel.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface ProbesThreadOptions extends ThreadDependencies {
  readonly settings: Settings<ProbesWorkerData, 'results'>;
  readonly onNotification: (notification: ProbeNotification) => void;
  /** The thread starts, or starts again: it knows no pod. */
  readonly onStart: () => void;
}

/** 4 MB are enough for 100 pods. The rest is for hostile pods: 500 of them with 512 KB of probes each (main/probes/to-probed-pod.ts). */
const resourceLimits = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 4 };

export class ProbesThread {
  readonly thread: Thread<ProbesApi>;

  private constructor(thread: Thread<ProbesApi>) {
    this.thread = thread;
  }

  static start({ state, logger, settings, onNotification, onStart }: ProbesThreadOptions): ProbesThread {
    const results = new EventChannel(onNotification, logger);
    return new ProbesThread(
      startThread<ProbesApi, ProbesWorkerData>({
        name: 'probes',
        resourceLimits,
        usesCodeCache: false,
        state,
        logger,
        onStart: () => {
          onStart();
          return { ...settings, results: results.open() };
        },
        onClosed: () => results.close(),
      }),
    );
  }

  setPods(pods: readonly ProbedPod[]): Promise<void> {
    return this.thread.call((api) => api.setPods(pods));
  }
  removePods(uids: readonly PodUID[]): Promise<void> {
    return this.thread.call((api) => api.removePods(uids));
  }

  /** The metrics of the probes, as text. */
  renderMetrics(format: MetricsFormat): Promise<Uint8Array> {
    return this.thread.call((api) => api.renderMetrics(format));
  }

  close(): Promise<void> {
    return this.thread.close();
  }
}
