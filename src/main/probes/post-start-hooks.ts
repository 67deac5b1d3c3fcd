/**
 * Containers whose postStart hook may still run: those that the sync in flight has started. They have not started yet, so they are neither ready nor
 * probed. Upstream shows and probes no container before the sync that started it has ended.
 */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Container, Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type ContainerID, type PodUID } from '../../shared/kubernetes/ids.ts';

export class PostStartHooks {
  /** The instances that each sync in flight found, for pods with such hooks. */
  readonly #syncs = new Map<PodUID, ReadonlySet<ContainerID>>();

  onSyncStarted(pod: Pod, status: RuntimePodStatus | null): void {
    const { containers, initContainers = [] } = pod.spec;
    if (![...containers, ...initContainers].some(({ lifecycle }) => lifecycle?.postStart)) return;
    this.#syncs.set(podUID(pod), new Set(status?.containers.map(({ id }) => id)));
  }

  onSyncEnded(uid: PodUID): void {
    this.#syncs.delete(uid);
  }

  mayRun(uid: PodUID, container: Container, id: ContainerID): boolean {
    return Boolean(container.lifecycle?.postStart) && this.#syncs.get(uid)?.has(id) === false;
  }
}
