/**
 * Reads the usage of pods from the tables of the stats thread. A pod without a running container has no known usage, as in upstream (ListPodStats of
 * pkg/kubelet/stats/cri_stats_provider.go), except for its processes: a fork bomb ends containers of other pods, whose runtime can start nothing, and
 * their eviction would free no process ID.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { CgroupUsage, UsageReader } from '../../shared/state/usage-table.ts';
import { isLocalEphemeralVolume, type ContainerStats, type PodStats, type PodStatsReader, type StorageStats } from './pod-stats.ts';

/** NaN stands for an unknown value. */
interface MeasuredStorage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** The measured storage of one pod. */
export interface PodStorageReader {
  /** Writable layers, by container. */
  readonly containers: ReadonlyMap<string, MeasuredStorage>;
  /** By volume name. */
  readonly volumes: ReadonlyMap<string, MeasuredStorage>;
  /** Files in the pod's log folder itself, outside the folders of its containers. */
  readonly podLogs: MeasuredStorage | undefined;
  /** The file that is mounted as /etc/hosts. */
  readonly etcHosts: MeasuredStorage | undefined;
}

export interface PodStatsSources {
  readonly usage: Pick<UsageReader, 'select'>;
  readonly storage: { readonly pod: (uid: PodUID) => PodStorageReader; readonly all: () => ReadonlyMap<PodUID, PodStorageReader> };
}

/** Up to this many pods are read one by one. To read one pod costs a search of the table; to read all pods costs as much as forty such searches. */
const fewPods = 40;

export function readPodStats(pods: readonly AllocatedPod[], { usage, storage }: PodStatsSources): PodStatsReader {
  const rows = new Map<string, CgroupUsage[]>(pods.map((pod) => [podUID(pod), []]));
  for (const row of usage.select(({ podUID: uid }) => rows.has(uid))) rows.get(row.identity.podUID)?.push(row);
  const storageOfAll = pods.length > fewPods ? storage.all() : null;
  const storageOf = (uid: PodUID) => (storageOfAll ? storageOfAll.get(uid) : storage.pod(uid));
  return (pod) => toPodStats(pod, rows.get(podUID(pod)) ?? [], storageOf(podUID(pod)));
}

function toPodStats(pod: Pod, rows: readonly CgroupUsage[], storage: PodStorageReader | undefined): PodStats | undefined {
  const instances = newestInstances(rows);
  const ofPod = rows.find(({ identity }) => identity.kind === 'pod')?.values;
  if (instances.length === 0) return ofPod && processesOnly(ofPod.threads);
  const containers = instances.map((row) => containerStats(row, storage));
  const volumes = Array.from(storage?.volumes ?? [], ([name, usage]) => ({ name, ...storageStats(usage) }));
  return {
    // Without cgroupsPerQOS the pod has no cgroup: the memory of its containers is added up.
    ...known('memoryBytes', ofPod?.memoryWorkingSetBytes ?? sumOfKnown(containers.map(({ memoryBytes }) => memoryBytes))),
    // Containers of a virtual machine have no processes here, but their pod has.
    processes: sum(instances.map(({ values }) => values.processes)) || sum([ofPod?.threads]),
    ephemeralStorageBytes: ephemeralStorageBytes(pod, containers, storage),
    containers,
    volumes,
  };
}

/** @param threads of the pod's cgroup and all cgroups below it; NaN when not known */
function processesOnly(threads: number): PodStats | undefined {
  return Number.isNaN(threads) ? undefined : { processes: threads, containers: [], volumes: [], onlyProcesses: true };
}

/** Returns the newest instance of each container, sorted by name. A container that has ended may have a row until the next sample. */
function newestInstances(rows: readonly CgroupUsage[]): CgroupUsage[] {
  const newest = new Map<string, CgroupUsage>();
  for (const row of rows) {
    const { kind, containerName, createdAtMs } = row.identity;
    const known = newest.get(containerName);
    if (kind === 'container' && !(known && known.identity.createdAtMs > createdAtMs)) newest.set(containerName, row);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function containerStats({ identity, values }: CgroupUsage, storage: PodStorageReader | undefined): ContainerStats {
  const { containerName: name } = identity;
  const rootfs = storageStats(storage?.containers.get(name));
  const logs = storageStats({ usedBytes: values.logBytes, inodesUsed: values.logInodes });
  return { name, ...known('memoryBytes', values.memoryWorkingSetBytes), ...(rootfs && { rootfs }), ...(logs && { logs }) };
}

/** Upstream: calcEphemeralStorage. */
function ephemeralStorageBytes(pod: Pod, containers: readonly ContainerStats[], storage: PodStorageReader | undefined): number {
  const local = new Set((pod.spec.volumes ?? []).filter(isLocalEphemeralVolume).map(({ name }) => name));
  const volumes = [...(storage?.volumes ?? [])].filter(([name]) => local.has(name)).map(([, usage]) => usage);
  const measured = [...volumes, storage?.podLogs, storage?.etcHosts].map((usage) => usage?.usedBytes);
  return sum([...containers.flatMap(({ rootfs, logs }) => [rootfs?.usedBytes, logs?.usedBytes]), ...measured]);
}

function storageStats(usage: MeasuredStorage | undefined): StorageStats | undefined {
  if (!usage || (Number.isNaN(usage.usedBytes) && Number.isNaN(usage.inodesUsed))) return undefined;
  return { ...known('usedBytes', usage.usedBytes), ...known('inodesUsed', usage.inodesUsed) };
}

function known<K extends string>(name: K, value: number): { readonly [P in K]?: number } {
  return (Number.isNaN(value) ? {} : { [name]: value }) as { readonly [P in K]?: number };
}

/** Returns NaN when no value is known. */
function sumOfKnown(values: readonly (number | undefined)[]): number {
  return values.some((value) => value !== undefined) ? sum(values) : NaN;
}

/** Unknown values do not count. */
function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value === undefined || Number.isNaN(value) ? 0 : value), 0);
}
