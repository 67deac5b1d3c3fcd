/** Main's half of the pleg thread. Its events come to one handler, across its lives; a new life begins with a full relist. */
import type { PlegApi, PlegWorkerData, PlegNotification, RuntimeFacts } from '../../shared/contracts/pleg.ts';
import type { CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { entryUrl } from './entry-url.ts';
import { EventChannel } from './event-channel.ts';
import type { Settings, ThreadDependencies } from './thread-dependencies.ts';
import { Thread } from './thread.ts';

export interface PlegThreadOptions extends ThreadDependencies {
  readonly settings: Settings<PlegWorkerData, 'events'>;
  readonly onMessage: (message: PlegNotification) => void;
}

/** Room for the lists of 2,500 pods with 5,000 containers, and the full decode of all of them at the first relist. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 };
/** Above the thread's own deadlines: the runtime's (runtimeRequestTimeout) rule, this one is for a thread that hangs. */
const slackMs = 5_000;

export class PlegThread {
  readonly thread: Thread<PlegApi>;
  readonly #events: EventChannel<PlegNotification>;
  readonly #deadlineMs: number;

  private constructor(thread: Thread<PlegApi>, events: EventChannel<PlegNotification>, deadlineMs: number) {
    this.thread = thread;
    this.#events = events;
    this.#deadlineMs = deadlineMs;
  }

  static start({ state, logger, settings, onMessage }: PlegThreadOptions): PlegThread {
    const events = new EventChannel(onMessage, logger);
    const common = state.workerData('pleg');
    const thread = new Thread<PlegApi>({
      name: 'pleg',
      entry: entryUrl('pleg'),
      onStart: () => {
        const port = events.open();
        return { workerData: { ...common, ...settings, events: port } satisfies PlegWorkerData, transferList: [port] };
      },
      resourceLimits,
      threadStatuses: state.threadStatuses,
      heartbeatRow: common.heartbeatRow,
      watchdog: state.watchdog,
      logger,
      finish: (api) => api.close(),
    });
    return new PlegThread(thread, events, settings.runtimeRequestTimeoutMs + slackMs);
  }

  /** See PlegApi. Asked again of a successor: a look does no harm. */
  look(podUID: PodUID, created?: CreatedObjects, sequence?: number): Promise<RuntimePodStatus | null> {
    return this.thread.call((api) => api.inspectPod(podUID, created, sequence), { deadlineMs: this.#deadlineMs, retry: true });
  }
  relist(): Promise<void> {
    return this.thread.call((api) => api.relist(), { deadlineMs: this.#deadlineMs, retry: true });
  }
  runtimeStatus(): Promise<RuntimeFacts> {
    return this.thread.call((api) => api.runtimeStatus(), { deadlineMs: this.#deadlineMs, retry: true });
  }
  async close(): Promise<void> {
    await this.thread.close();
    this.#events.close();
  }
}
