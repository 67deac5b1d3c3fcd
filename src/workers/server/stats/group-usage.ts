/**
 * Groups the rows of the usage table into the node, its system containers, and its pods. Pure. Upstream: filterTerminatedContainerInfoAndAssembleByPodCgroupKey
 * and isContainerTerminated of pkg/kubelet/stats/cadvisor_stats_provider.go.
 */
import type { CgroupKind, CgroupUsage } from '../../../shared/state/usage-table.ts';

export interface PodUsage {
  readonly podUID: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** Undefined when the pod's cgroup is not measured yet, or without `cgroupsPerQOS`. */
  pod: CgroupUsage | undefined;
  sandbox: CgroupUsage | undefined;
  /** One of each name, sorted by name. */
  containers: CgroupUsage[];
}

export interface NodeUsage {
  readonly root: CgroupUsage | undefined;
  readonly systemContainers: readonly CgroupUsage[];
  /** Sorted by namespace and name. Only pods that have a sandbox or a container. */
  readonly pods: readonly PodUsage[];
}

const systemKinds: ReadonlySet<CgroupKind> = new Set<CgroupKind>(['kubelet', 'runtime', 'misc', 'pods']);

export function groupUsage(rows: readonly CgroupUsage[]): NodeUsage {
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
    pods: [...pods.values()].sort((a, b) => compare(a.podNamespace, b.podNamespace) || compare(a.podName, b.podName)),
  };
}

/** Of several instances of one name the newest one with usage; a single instance unless it has ended. */
export function pickContainers(rows: readonly CgroupUsage[]): CgroupUsage[] {
  const byName = new Map<string, CgroupUsage[]>();
  for (const row of rows) {
    const { containerName } = row.identity;
    const instances = byName.get(containerName);
    if (instances) instances.push(row);
    else byName.set(containerName, [row]);
  }
  const picked: CgroupUsage[] = [];
  for (const [, instances] of [...byName].sort(([a], [b]) => compare(a, b))) {
    const instance =
      instances.length === 1
        ? instances.find((row) => !hasEnded(row))
        : instances.sort((a, b) => b.identity.createdAtMs - a.identity.createdAtMs).find(hasUsage);
    if (instance) picked.push(instance);
  }
  return picked;
}

function hasEnded({ values }: CgroupUsage): boolean {
  return Number.isNaN(values.cpuNanoCores) || (values.cpuNanoCores === 0 && values.memoryRssBytes === 0);
}
function hasUsage({ values }: CgroupUsage): boolean {
  return values.cpuNanoCores > 0 && values.memoryRssBytes !== 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
