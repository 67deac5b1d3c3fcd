/** What a task did, gathered while it runs: the result that main gets. */
import type {
  ContainerBackoff,
  CreatedContainer,
  CreatedSandbox,
  PodSyncReport,
  PodSyncResult,
  WaitingReason,
} from '../../shared/contracts/pod-sync/result.ts';
import { toFailure, type Failure } from '../../shared/errors/kubelet-error.ts';
import type { PodStatus } from '../../shared/kubernetes/api.ts';
import { Stopped } from './task-channel-client.ts';

/** The failure of one action, in upstream's terms (pkg/kubelet/container SyncResult). */
export interface ActionFailure {
  readonly action: 'StartContainer' | 'KillContainer' | 'RemoveContainer' | 'CreatePodSandbox' | 'ConfigPodSandbox' | 'KillPodSandbox';
  /** The container, or the pod. */
  readonly target: string;
  readonly reason: string;
  readonly message: string;
}

/** Failures that are nothing but a wait for a known time: others go before them as the failure of the whole. */
const waits = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

export class SyncReport {
  readonly #failures: ActionFailure[] = [];
  #waiting: Record<string, WaitingReason>;
  #backoffs: ContainerBackoff[] = [];
  #retryAtMs = Infinity;
  /** Something in the runtime is not as it was. */
  changedRuntime = false;
  #sandbox: CreatedSandbox | undefined;
  #containers: CreatedContainer[] | null = [];

  readonly #onWaiting: (container: string, why: WaitingReason) => void;

  /**
   * `before`: what the pod's containers wait for, as long as this sync has not come to them. `onWaiting` is called for each container that
   * cannot be started.
   */
  constructor(before: PodStatus | null = null, onWaiting: (container: string, why: WaitingReason) => void = () => {}) {
    this.#waiting = waitingOf(before);
    this.#onWaiting = onWaiting;
  }

  /** The sync comes to the containers: what they wait for is now what it finds. */
  startOver(): void {
    this.#waiting = {};
  }

  fail(failure: ActionFailure): void {
    this.#failures.push(failure);
    if (failure.action !== 'StartContainer') return;
    const why = { reason: failure.reason, message: failure.message };
    this.#waiting[failure.target] = why;
    this.#onWaiting(failure.target, why);
  }

  backoff(changed: ContainerBackoff): void {
    this.#backoffs = [...this.#backoffs.filter(({ key }) => key !== changed.key), changed];
  }

  /** Also once more is known of it. */
  madeSandbox(sandbox: CreatedSandbox): void {
    this.changedRuntime = true;
    this.#sandbox = sandbox;
  }

  madeContainer(container: CreatedContainer): void {
    this.changedRuntime = true;
    this.#containers?.push(container);
  }

  /** The runtime may have something of the pod that nobody knows of. */
  mayHaveMadeMore(): void {
    this.changedRuntime = true;
    this.#containers = null;
  }

  /** Wall-clock ms; the soonest counts. */
  retryAt(ms: number): void {
    this.#retryAtMs = Math.min(this.#retryAtMs, ms);
  }

  /** The result, after `err` if there was one that ended the sync. */
  result(err?: unknown, reason = 'FailedSync'): PodSyncResult {
    const report: PodSyncReport = {
      waiting: this.#waiting,
      backoffs: this.#backoffs,
      changedRuntime: this.changedRuntime,
      ...(this.#retryAtMs < Infinity && { retryAtMs: this.#retryAtMs }),
    };
    if (err instanceof Stopped) return { outcome: 'stopped', ...report };
    if (err !== undefined) return { outcome: 'failed', failure: toFailure(err, reason), ...report };
    const failure = aggregate(this.#failures);
    if (failure) return { outcome: 'failed', failure, ...report };
    if (!this.changedRuntime || !this.#containers) return { outcome: 'synced', ...report };
    const made = { ...(this.#sandbox && { sandbox: this.#sandbox }), containers: this.#containers };
    return { outcome: 'synced', ...report, created: made };
  }
}

/** All of them in one, worded as upstream's aggregate. */
export function aggregate(failures: readonly ActionFailure[]): Failure | undefined {
  const first = failures.find(({ reason }) => !waits.has(reason)) ?? failures[0];
  if (!first) return undefined;
  const messages = failures.map(
    ({ action, target, reason, message }) => `failed to "${action}" for "${target}" with ${reason}: ${JSON.stringify(message)}`,
  );
  return { reason: first.reason, message: messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]` };
}

/** Reasons that stand for "not there yet": they are computed, not reported. */
const defaultReasons = new Set(['ContainerCreating', 'PodInitializing']);

function waitingOf(status: PodStatus | null): Record<string, { reason: string; message: string }> {
  const waiting: Record<string, { reason: string; message: string }> = {};
  const lists = [status?.initContainerStatuses, status?.containerStatuses, status?.ephemeralContainerStatuses];
  for (const { name, state } of lists.flatMap((list) => list ?? [])) {
    const { reason, message = '' } = state?.waiting ?? {};
    if (reason && !defaultReasons.has(reason)) waiting[name] = { reason, message };
  }
  return waiting;
}
