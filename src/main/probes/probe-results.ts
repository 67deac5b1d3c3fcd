/**
 * The results of all probes, by pod and container instance. Upstream: the three result managers of pkg/kubelet/prober/results. Unlike there, a
 * probe that has not run has no result, instead of an initial one: nothing is ready, started or failed without a result.
 */
import type { ProbeType } from '../../shared/contracts/probes.ts';
import type { ProbeVerdict, ProbeVerdicts } from '../../shared/contracts/pod-sync/task.ts';
import type { ContainerID, PodUID } from '../../shared/kubernetes/ids.ts';

export type ContainerProbeResults = { readonly [Type in ProbeType]?: ProbeVerdict };

export class ProbeResults {
  readonly #pods = new Map<PodUID, Map<ContainerID, ContainerProbeResults>>();

  get(uid: PodUID, id: ContainerID): ContainerProbeResults | undefined {
    return this.#pods.get(uid)?.get(id);
  }

  /** Returns false when the result is the same as before. */
  set(uid: PodUID, id: ContainerID, probe: ProbeType, result: ProbeVerdict): boolean {
    const containers = this.#pods.get(uid) ?? new Map<ContainerID, ContainerProbeResults>();
    this.#pods.set(uid, containers);
    const current = containers.get(id);
    if (current?.[probe] === result) return false;
    containers.set(id, { ...current, [probe]: result });
    return true;
  }

  /** Drops the results of all other containers of the pod. */
  keep(uid: PodUID, ids: ReadonlySet<ContainerID>): void {
    const containers = this.#pods.get(uid);
    if (!containers) return;
    for (const id of containers.keys()) if (!ids.has(id)) containers.delete(id);
    if (containers.size === 0) this.#pods.delete(uid);
  }

  podUIDs(): Iterable<PodUID> {
    return this.#pods.keys();
  }

  remove(uid: PodUID): void {
    this.#pods.delete(uid);
  }

  /** Returns the results that decide about restarts and the start of further containers. */
  verdicts(uid: PodUID): ProbeVerdicts {
    const containers = [...(this.#pods.get(uid) ?? [])];
    const verdictsOf = (probe: 'startup' | 'liveness') =>
      new Map(containers.flatMap(([id, { [probe]: result }]) => (result === undefined ? [] : [[id, result] as const])));
    return { startup: verdictsOf('startup'), liveness: verdictsOf('liveness') };
  }

  /** Whether a container failed a probe for which it is killed. */
  hasFailed(uid: PodUID): boolean {
    const containers = this.#pods.get(uid);
    return containers?.values().some(({ startup, liveness }) => startup === 'failure' || liveness === 'failure') ?? false;
  }
}
