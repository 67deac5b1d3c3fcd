/** Main's half of the pleg thread. One handler gets the notifications of the thread and of its successors; each starts with a full relist. */
import type { PlegApi, PlegNotification, PlegWorkerData, RuntimeInfo } from '../../shared/contracts/pleg.ts';
import type { CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { startThread, type Settings, type ThreadDependencies } from './start-thread.ts';
import type { Thread } from './thread.ts';

export interface PlegThreadOptions extends ThreadDependencies {
  readonly settings: Settings<PlegWorkerData>;
  readonly onMessage: (message: PlegNotification) => void;
}

/** Enough for the lists of 2,500 pods with 5,000 containers, and for the full decode of all of them at the first relist. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 2 };
/** Added to runtimeRequestTimeout, the thread's own deadline: the deadline here is for a thread that hangs. */
const slackMs = 5_000;

export class PlegThread {
  readonly thread: Thread<PlegApi>;
  readonly #deadlineMs: number;

  private constructor(thread: Thread<PlegApi>, deadlineMs: number) {
    this.thread = thread;
    this.#deadlineMs = deadlineMs;
  }

  static start({ state, logger, settings, onMessage }: PlegThreadOptions): PlegThread {
    const thread = startThread<PlegApi, PlegWorkerData>({
      name: 'pleg',
      resourceLimits,
      state,
      logger,
      onStart: () => settings,
      onNotification: (notification) => onMessage(notification as PlegNotification),
    });
    return new PlegThread(thread, settings.runtimeRequestTimeoutMs + slackMs);
  }

  /** See PlegApi. Resolves when `onMessage` has got the result. Retried when the thread dies: an inspection changes nothing. */
  inspectPod(podUID: PodUID, created?: CreatedObjects): Promise<void> {
    return this.thread.call((api) => api.inspectPod(podUID, created), { deadlineMs: this.#deadlineMs, retry: true });
  }
  relist(): Promise<void> {
    return this.thread.call((api) => api.relist(), { deadlineMs: this.#deadlineMs, retry: true });
  }
  runtimeInfo(): Promise<RuntimeInfo> {
    return this.thread.call((api) => api.runtimeInfo(), { deadlineMs: this.#deadlineMs, retry: true });
  }
  close(): Promise<void> {
    return this.thread.close();
  }
}
