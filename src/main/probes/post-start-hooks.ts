/**
 * Containers whose postStart hook has not ended. They have not started yet, so they are neither ready nor probed. Upstream shows and probes no container before
 * the sync that started it has ended, and forgets the hook when the kubelet restarts.
 */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type ContainerID, type PodUID } from '../../shared/kubernetes/ids.ts';

export class PostStartHooks {
  /**
   * The instances that existed when each sync in flight began, of pods with such hooks. The sync starts all other instances, so their hooks may still run.
   */
  readonly #syncs = new Map<PodUID, ReadonlySet<ContainerID>>();
  /** The instances whose hook a task has begun and not ended; the task may be lost, or one of an earlier kubelet. */
  readonly #unfinished: Set<ContainerID>;

  /** @param unfinished what an earlier kubelet has left (unfinished-hooks.ts) */
  constructor(unfinished: Iterable<ContainerID> = []) {
    this.#unfinished = new Set(unfinished);
  }

  /** Returns the running containers whose hook an earlier sync has not ended. */
  onSyncStarted(pod: Pod, status: RuntimePodStatus | null): readonly ContainerID[] {
    const { containers, initContainers = [] } = pod.spec;
    if (![...containers, ...initContainers].some(({ lifecycle }) => lifecycle?.postStart)) return [];
    const found = status?.containers ?? [];
    this.#syncs.set(podUID(pod), new Set(found.map(({ id }) => id)));
    for (const { id, state } of found) if (state === 'exited') this.#unfinished.delete(id);
    return found.filter(({ id, state }) => state === 'running' && this.#unfinished.has(id)).map(({ id }) => id);
  }

  onSyncEnded(uid: PodUID): void {
    this.#syncs.delete(uid);
  }

  /** A task has begun the hook of a container, or has ended it. */
  setUnfinished(id: ContainerID, unfinished: boolean): void {
    if (unfinished) this.#unfinished.add(id);
    else this.#unfinished.delete(id);
  }

  /** Whether the hook of this instance may still run. */
  mayRun(uid: PodUID, container: Container, id: ContainerID): boolean {
    if (!container.lifecycle?.postStart) return false;
    return this.#unfinished.has(id) || this.#syncs.get(uid)?.has(id) === false;
  }
}
