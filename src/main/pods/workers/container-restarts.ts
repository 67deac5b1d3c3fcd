/**
 * The containers that a pod's task in flight stops in order to start them again (a changed image, a new sandbox). The published status does
 * not show such a stop: the API server refuses a container that comes back after it had ended for good, and upstream generates no status
 * while a sync runs. Each container keeps its last running state until its next instance runs, or until the pod was inspected after the task.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';

export class ContainerRestarts {
  #running: ReadonlyMap<ContainerID, RuntimeContainerStatus> = new Map();
  /** Monotonic ms: an inspection that began later shows how the restarts ended. */
  #overAfterMs = Infinity;

  /**
   * `containers`: as they ran when the task was sent. False: the runtime has reported the end of one of them since, and that may be
   * published already, so the decision to restart it is out of date.
   */
  begin(containers: readonly RuntimeContainerStatus[], current: RuntimePodStatus | null): boolean {
    const exited = new Set(current?.containers.filter(({ state }) => state === 'exited').map(({ id }) => id));
    if (containers.some(({ id }) => exited.has(id))) return false;
    this.#running = new Map(containers.map((container) => [container.id, container]));
    this.#overAfterMs = Infinity;
    return true;
  }

  onTaskEnded(nowMs: number): void {
    this.#overAfterMs = nowMs;
  }

  /** The runtime status to publish. `isNewerThan` says whether `status` was seen after that monotonic ms. */
  statusToPublish(status: RuntimePodStatus | null, isNewerThan: (monotonicMs: number) => boolean): RuntimePodStatus | null {
    if (this.#running.size > 0 && isNewerThan(this.#overAfterMs)) this.#running = new Map();
    return status && hideStops(status, this.#running);
  }
}

/** The status with every container of `restarting` as it ran, unless a newer instance of it has run. */
export function hideStops(status: RuntimePodStatus, restarting: ReadonlyMap<ContainerID, RuntimeContainerStatus>): RuntimePodStatus {
  if (restarting.size === 0) return status;
  const names = new Set(status.containers.filter(({ id }) => restarting.has(id)).map(({ name }) => name));
  for (const name of names) {
    // Newest first. An instance that was only created runs in a moment.
    const newest = status.containers.find((container) => container.name === name && container.state !== 'created');
    if (newest && !restarting.has(newest.id)) names.delete(name);
  }
  return {
    ...status,
    containers: status.containers
      .filter(({ name, state }) => !names.has(name) || state !== 'created')
      .map((container) => (names.has(container.name) ? (restarting.get(container.id) ?? container) : container)),
  };
}
