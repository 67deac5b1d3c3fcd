/**
 * The containers that the task in flight restarts (a changed image, a new sandbox). The published status does not show the stop in between: the
 * API server rejects a terminated container that runs again, and upstream generates no status during a sync. Each container keeps its last running
 * state until its next instance runs, or until the inspection after the task.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';

export class ContainerRestarts {
  /** The containers that are restarted, in their last running state. */
  #running: ReadonlyMap<ContainerID, RuntimeContainerStatus> = new Map();
  /** Monotonic ms. A status observed later shows the result of the restarts. */
  #endedAtMs = Infinity;

  /**
   * `containers` have the state in which they were sent with the task. Returns false when the runtime has reported the exit of one of them since: the
   * exit may be published already, so the decision to restart is out of date.
   */
  begin(containers: readonly RuntimeContainerStatus[], current: RuntimePodStatus | null): boolean {
    const exited = new Set(current?.containers.filter(({ state }) => state === 'exited').map(({ id }) => id));
    if (containers.some(({ id }) => exited.has(id))) return false;
    this.#running = new Map(containers.map((container) => [container.id, container]));
    this.#endedAtMs = Infinity;
    return true;
  }

  onTaskEnded(nowMs: number): void {
    this.#endedAtMs = nowMs;
  }

  /** Returns the runtime status to publish. `isNewerThan` returns whether `status` was observed after that monotonic ms. */
  statusToPublish(status: RuntimePodStatus | null, isNewerThan: (monotonicMs: number) => boolean): RuntimePodStatus | null {
    if (this.#running.size > 0 && isNewerThan(this.#endedAtMs)) this.#running = new Map();
    return status && hideStops(status, this.#running);
  }
}

/** Returns the status with every container of `restarting` in its running state, unless a newer instance of it has run. */
export function hideStops(status: RuntimePodStatus, restarting: ReadonlyMap<ContainerID, RuntimeContainerStatus>): RuntimePodStatus {
  if (restarting.size === 0) return status;
  const names = new Set(status.containers.filter(({ id }) => restarting.has(id)).map(({ name }) => name));
  for (const name of names) {
    // Instances are ordered newest first. A created instance is about to run.
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
