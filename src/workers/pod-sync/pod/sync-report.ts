/** Collects failures, waiting reasons, back-offs and created objects while a task runs, and makes the task's result from them. */
import type { PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import {
  failedResult,
  type ContainerBackoff,
  type CreatedContainer,
  type CreatedSandbox,
  type PodSyncReport,
  type PodSyncResult,
  type WaitingReason,
} from '../../../shared/contracts/pod-sync/result.ts';
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import { isBackOffReason, waitingReasonsOf } from '../../../shared/kubernetes/waiting-reasons.ts';
import { Stopped } from './task-channel-client.ts';

/** The failure of one action (upstream: pkg/kubelet/container SyncResult). */
export interface ActionFailure {
  /** Upstream's name, or the type of an action that upstream does not have. The failure of a `StartContainer` is why the container waits. */
  readonly action: string;
  /** The container, or the pod. */
  readonly target: string;
  readonly reason: string;
  readonly message: string;
}

export class SyncReport {
  readonly #failures: ActionFailure[] = [];
  #waiting: Record<string, WaitingReason>;
  #backoffs: ContainerBackoff[] = [];
  #retryAtMs = Infinity;
  /** True: the task changed something in the runtime. */
  changedRuntime = false;
  /** Why a resize is not complete. */
  resizeError: string | undefined;
  /** How the pod's cgroup differs from the allocated values. Null: it does not. Undefined: the cgroup was not read. */
  podCgroup: PodCgroupDifference | null | undefined;
  #sandbox: CreatedSandbox | undefined;
  /** Null: the task does not know everything that it created. */
  #containers: CreatedContainer[] | null = [];
  readonly #onWaiting: (container: string, waiting: WaitingReason) => void;

  /**
   * @param previous the waiting reasons of this API status are kept until `resetWaiting`
   * @param onWaiting called for each container that cannot be started
   */
  constructor(previous: PodStatus | null = null, onWaiting: (container: string, waiting: WaitingReason) => void = () => {}) {
    this.#waiting = waitingReasonsIn(previous);
    this.#onWaiting = onWaiting;
  }

  /** Call this when the sync begins to start containers: from then on it determines the waiting reasons. */
  resetWaiting(): void {
    this.#waiting = {};
  }

  fail(failure: ActionFailure): void {
    this.#failures.push(failure);
    if (failure.action !== 'StartContainer') return;
    const waiting = { reason: failure.reason, message: failure.message };
    this.#waiting[failure.target] = waiting;
    this.#onWaiting(failure.target, waiting);
  }

  get hasFailures(): boolean {
    return this.#failures.length > 0;
  }

  hasFailure(reason: string): boolean {
    return this.#failures.some((failure) => failure.reason === reason);
  }

  setBackoff(changed: ContainerBackoff): void {
    this.#backoffs = [...this.#backoffs.filter(({ key }) => key !== changed.key), changed];
  }

  /** Call this again when more of the sandbox is known. */
  addSandbox(sandbox: CreatedSandbox): void {
    this.changedRuntime = true;
    this.#sandbox = sandbox;
  }

  addContainer(container: CreatedContainer): void {
    this.changedRuntime = true;
    this.#containers?.push(container);
  }

  /** The runtime may have created something that the task has no ID of. The result then has no `created`. */
  forgetCreated(): void {
    this.changedRuntime = true;
    this.#containers = null;
  }

  /** Wall-clock ms. The earliest call counts. */
  retryAt(ms: number): void {
    this.#retryAtMs = Math.min(this.#retryAtMs, ms);
  }

  /**
   * The task's result.
   * @param err the error that ended the sync, if there was one
   * @param reason the failure's reason if the error has none
   */
  result(err?: unknown, reason?: string): PodSyncResult {
    const report: PodSyncReport = {
      waiting: this.#waiting,
      backoffs: this.#backoffs,
      changedRuntime: this.changedRuntime,
      ...(this.#retryAtMs < Infinity && { retryAtMs: this.#retryAtMs }),
      ...(this.resizeError !== undefined && { resizeError: this.resizeError }),
      ...(this.podCgroup !== undefined && { podCgroup: this.podCgroup }),
    };
    if (err instanceof Stopped) return { outcome: 'stopped', ...report };
    if (err !== undefined) return failedResult(err, { ...(reason !== undefined && { reason }), ...report });
    const failure = aggregateFailures(this.#failures);
    if (failure) return { outcome: 'failed', failure, ...report };
    if (!this.changedRuntime || !this.#containers) return { outcome: 'synced', ...report };
    const created = { ...(this.#sandbox && { sandbox: this.#sandbox }), containers: this.#containers };
    return { outcome: 'synced', ...report, created };
  }
}

/** Returns one failure for all, in the words of upstream's aggregate error. Its reason is that of the first failure that is not a back-off, if there is one. */
export function aggregateFailures(failures: readonly ActionFailure[]): Failure | undefined {
  const first = failures.find(({ reason }) => !isBackOffReason(reason)) ?? failures[0];
  if (!first) return undefined;
  const messages = failures.map(
    ({ action, target, reason, message }) => `failed to "${action}" for "${target}" with ${reason}: ${JSON.stringify(message)}`,
  );
  return { reason: first.reason, message: messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]` };
}

function waitingReasonsIn(status: PodStatus | null): Record<string, WaitingReason> {
  const lists = [status?.initContainerStatuses, status?.containerStatuses, status?.ephemeralContainerStatuses];
  return { ...waitingReasonsOf(lists.flatMap((list) => list ?? [])) };
}
