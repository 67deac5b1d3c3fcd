/**
 * Groups the rows of the usage table into the node, its system containers, and its pods. Pure. A container has a row while it runs, so each row counts from its
 * first sample on. Upstream: listPodStatsPartiallyFromCRI of pkg/kubelet/stats/cri_stats_provider.go.
 */
import type { CgroupKind, CgroupUsage } from '../../../shared/state/usage-table.ts';

export interface PodUsage {
  readonly podUID: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** Undefined when the pod's cgroup is not measured yet, or without `cgroupsPerQOS`. */
  pod: CgroupUsage | undefined;
  sandbox: CgroupUsage | undefined;
  /** One row for each container name, sorted by name. */
  containers: CgroupUsage[];
}

export interface NodeUsage {
  readonly root: CgroupUsage | undefined;
  readonly systemContainers: readonly CgroupUsage[];
  /** Sorted by namespace and name. Only pods that have a running container, as upstream, or claims. */
  readonly pods: readonly PodUsage[];
}

const systemKinds: ReadonlySet<CgroupKind> = new Set<CgroupKind>(['kubelet', 'runtime', 'misc', 'pods']);

/** @param podsWithClaims UIDs of pods that are shown even while only their sandbox runs: a full volume can crash a pod, and then its usage is of interest */
export function groupUsage(rows: readonly CgroupUsage[], podsWithClaims: { has(podUID: string): boolean } = new Set()): NodeUsage {
  const pods = new Map<string, PodUsage>();
  const podCgroups = new Map<string, CgroupUsage>();
  const systemContainers: CgroupUsage[] = [];
  let root: CgroupUsage | undefined;
  for (const row of rows) {
    const { kind, podUID, podName, podNamespace } = row.identity;
    if (kind === 'root') root = row;
    else if (systemKinds.has(kind)) systemContainers.push(row);
    else if (kind === 'pod') podCgroups.set(podUID, row);
    else if (kind === 'sandbox' || kind === 'container') {
      let pod = pods.get(podUID);
      if (!pod) pods.set(podUID, (pod = { podUID, podName, podNamespace, pod: undefined, sandbox: undefined, containers: [] }));
      if (kind === 'container') pod.containers.push(row);
      else if (!pod.sandbox || pod.sandbox.identity.createdAtMs < row.identity.createdAtMs) pod.sandbox = row;
    }
  }
  for (const pod of pods.values()) {
    pod.pod = podCgroups.get(pod.podUID);
    pod.containers = pickContainers(pod.containers);
  }
  return {
    root,
    systemContainers: systemContainers.sort((a, b) => compare(a.identity.kind, b.identity.kind)),
    pods: [...pods.values()]
      .filter(({ podUID, containers }) => containers.length > 0 || podsWithClaims.has(podUID))
      .sort((a, b) => compare(a.podNamespace, b.podNamespace) || compare(a.podName, b.podName)),
  };
}

/** Keeps the newest of several instances of one container: the others have ended since the last sample. */
export function pickContainers(rows: readonly CgroupUsage[]): CgroupUsage[] {
  const newest = new Map<string, CgroupUsage>();
  for (const row of rows) {
    const { containerName, createdAtMs } = row.identity;
    const known = newest.get(containerName);
    if (!known || known.identity.createdAtMs < createdAtMs) newest.set(containerName, row);
  }
  return [...newest.values()].sort((a, b) => compare(a.identity.containerName, b.identity.containerName));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
