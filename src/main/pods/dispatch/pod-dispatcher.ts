/**
 * Decides when a pod's sync may run (sync-slots.ts) and when the runtime may be asked to start a sandbox or a container (start-admission.ts).
 * The two limits depend on each other: as many new pods get a sync slot as the runtime is given starts at a time, and a slot counts until its
 * pod gets the start permit of its sandbox. Upstream has neither limit.
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID } from '../../../shared/kubernetes/ids.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import { StartAdmission, type StartAdmissionOptions } from './start-admission.ts';
import type { StartPermit } from './start-permit.ts';
import { isLargePod, startRank, startRequest, type StartKind } from './start-request.ts';
import { syncKind } from './sync-kind.ts';
import { SyncSlots, type SyncSlot } from './sync-slots.ts';

export type PodDispatcherOptions = StartAdmissionOptions;

export class PodDispatcher {
  readonly #slots: SyncSlots;
  readonly #starts: StartAdmission;

  constructor(options: PodDispatcherOptions) {
    this.#starts = new StartAdmission(options);
    this.#slots = new SyncSlots(options.clock, () => this.#starts.allowed);
  }

  /** Requests a slot for the pod's next sync. `status` is the last known runtime status of the pod. Release every slot. */
  requestSyncSlot(pod: Pod, status: RuntimePodStatus | null): SyncSlot {
    return this.#slots.request({ uid: podUID(pod), kind: syncKind(pod, status), large: isLargePod(pod), ...startRank(pod) });
  }

  /** Resolves when the task may start a sandbox or a container. Rejects with the signal's reason. Release every permit. */
  async acquireStartPermit(kind: StartKind, task: PodTask, signal: AbortSignal): Promise<StartPermit> {
    if (kind === 'sandbox') this.#slots.extend(task.podUID);
    const permit = await this.#starts.acquire(startRequest(kind, task), signal);
    if (kind === 'sandbox') this.#slots.stopCounting(task.podUID);
    return permit;
  }

  /** Returns a permit when the task may start at once, else null; a null result leaves no request in the queue. */
  tryAcquireStartPermit(kind: StartKind, task: PodTask): StartPermit | null {
    const permit = this.#starts.tryAcquire(startRequest(kind, task));
    if (permit) this.#slots.stopCounting(task.podUID);
    return permit;
  }

  /** Resolves when no start waits or is in progress, or when the signal aborts. */
  untilIdle(signal: AbortSignal): Promise<void> {
    return this.#starts.untilIdle(signal);
  }
}
