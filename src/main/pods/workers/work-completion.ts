/**
 * Turns the result of each step of a pod worker into a log line, an event and the time of the next step, in one place. Upstream: completeWork in
 * pkg/kubelet/pod_workers.go.
 */
import { failedResult, type PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { contain, reportFault } from '../../../shared/faults/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { currentSpan } from '../../../shared/tracing/index.ts';
import { podReference } from '../../events/index.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import type { PodIdentity, PodWorkerDependencies } from './pod-worker-dependencies.ts';
import type { RuntimeStatusReader } from './runtime-status-reader.ts';
import { canRetryEarly, requeueDelayMs } from './sync-outcome.ts';

export interface WorkCompletionOptions {
  readonly worker: PodIdentity & { refreshStatus(): void };
  readonly dependencies: PodWorkerDependencies;
  readonly reader: RuntimeStatusReader;
  readonly log: Logger;
}

export class WorkCompletion {
  readonly #worker: WorkCompletionOptions['worker'];
  readonly #deps: PodWorkerDependencies;
  readonly #reader: RuntimeStatusReader;
  readonly #log: Logger;
  #canRetryEarly = false;
  #closed = false;

  constructor({ worker, dependencies, reader, log }: WorkCompletionOptions) {
    this.#worker = worker;
    this.#deps = dependencies;
    this.#reader = reader;
    this.#log = log;
  }

  /** Whether the last task failed and the worker waits for the end of a back-off that a retry may shorten. */
  get canRetryEarly(): boolean {
    return this.#canRetryEarly;
  }

  /** No result causes a further step. */
  close(): void {
    this.#closed = true;
  }

  /** Completes a step that failed in main. An unexpected exception appears in the pod's status too. Never throws. */
  fail(kind: PodTask['kind'], err: unknown): void {
    const context = { handler: 'pod worker', logger: this.#log };
    const { pod } = this.#worker;
    const result = failedResult(err);
    if (!(err instanceof KubeletError)) {
      reportFault(context, err);
      if (pod) contain(context, () => this.#deps.statuses.setFailedSync(pod, result.failure.message));
    }
    contain(context, () => this.complete(kind, result, 'main'));
  }

  complete(kind: PodTask['kind'], result: PodSyncResult, failedIn: 'task' | 'main' = 'task'): void {
    const { policy, clock, random, workQueue, events, onFailure, statuses, timelines } = this.#deps;
    const { uid, pod } = this.#worker;
    this.#canRetryEarly = canRetryEarly(result);
    if (result.changedRuntime) this.#reader.invalidate();
    if (this.#closed) return;
    const delayMs = requeueDelayMs(kind, result, policy, clock.now(), random());
    workQueue.enqueue(uid, delayMs);
    if (result.outcome === 'synced') timelines.clearProblem(uid, 'task');
    if (result.outcome !== 'failed') return;
    timelines.begin(uid, 'Retry', { dueMs: clock.monotonic() + delayMs });
    timelines.setProblem(uid, 'task', `${result.failure.reason}: ${result.failure.message}`);
    if (this.#canRetryEarly) onFailure();
    // The sync failed before it generated a status.
    if (failedIn === 'main' && statuses.get(uid) === undefined) this.#worker.refreshStatus();
    const { reason, message } = result.failure;
    currentSpan()?.fail(message, reason);
    this.#log.warn({ task: kind, reason, err: message, retryAfterMs: Math.round(delayMs) }, 'Error syncing pod, will try again');
    // Tasks record the events of their steps, except for unexpected failures and for failures to clean up an ended pod.
    if (pod && (failedIn === 'main' || reason === 'FailedSync' || reason === 'FailedCleanUp')) {
      events.record({ object: podReference(pod), type: 'Warning', reason, message });
    }
  }
}
