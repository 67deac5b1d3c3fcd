/**
 * The usage of one pod, as eviction reads it, and sums of it. Upstream: PodStats of the summary API, and podDiskUsage in
 * pkg/kubelet/eviction/helpers.go.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Pod, Volume } from '../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocation/index.ts';

/** What is not known is absent, and counts as 0. */
export interface PodStats {
  /** The working set. */
  readonly memoryBytes?: number;
  readonly processes?: number;
  /** Writable layers, logs and local volumes together. */
  readonly ephemeralStorageBytes?: number;
  readonly containers: readonly ContainerStats[];
  readonly volumes: readonly VolumeStats[];
  /** No container runs: nothing but `processes` is known. */
  readonly onlyProcesses?: true;
}

export interface ContainerStats {
  readonly name: string;
  readonly memoryBytes?: number;
  /** The writable layer. */
  readonly rootfs?: StorageStats;
  readonly logs?: StorageStats;
}

export interface StorageStats {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

export interface VolumeStats extends StorageStats {
  readonly name: string;
}

/** Returns undefined for a pod whose usage is not known. */
export type PodStatsReader = (pod: Pod) => PodStats | undefined;

const podsPerIteration = 25;

/** Reads the pods in several iterations of the event loop, so that other work runs in between: five hundred pods take tens of milliseconds. */
export async function readInBatches(
  pods: readonly AllocatedPod[],
  read: (batch: readonly AllocatedPod[]) => PodStatsReader,
): Promise<PodStatsReader> {
  const stats = new Map<Pod, PodStats | undefined>();
  for (let at = 0; at < pods.length; at += podsPerIteration) {
    if (at > 0) await nextIteration();
    const batch = pods.slice(at, at + podsPerIteration);
    const reader = read(batch);
    for (const pod of batch) stats.set(pod, reader(pod));
  }
  return (pod) => stats.get(pod);
}

/** The kinds of a pod's storage. Upstream has a fourth kind, the images of a pod, which is always 0 because nobody measures them. */
export type FsStatsType = 'rootfs' | 'logs' | 'localVolumes';

export function diskUsage(pod: Pod, stats: PodStats, kinds: ReadonlySet<FsStatsType>, unit: keyof StorageStats): number {
  const counted: (StorageStats | undefined)[] = [];
  for (const { rootfs, logs } of stats.containers) {
    if (kinds.has('rootfs')) counted.push(rootfs);
    if (kinds.has('logs')) counted.push(logs);
  }
  if (kinds.has('localVolumes')) {
    const local = new Set((pod.spec.volumes ?? []).filter(isLocal).map(({ name }) => name));
    counted.push(...stats.volumes.filter(({ name }) => local.has(name)));
  }
  return counted.reduce((sum, usage) => sum + (usage?.[unit] ?? 0), 0);
}

/** Whether the volume uses the node's disk. Upstream: localVolumeNames. */
function isLocal(volume: Volume): boolean {
  return volume.hostPath !== undefined || isLocalEphemeralVolume(volume);
}

/** Whether the volume uses the node's disk and lives as long as its pod. Upstream: IsLocalEphemeralVolume. */
export function isLocalEphemeralVolume({ emptyDir, configMap, gitRepo }: Volume): boolean {
  return gitRepo !== undefined || configMap !== undefined || (emptyDir !== undefined && (emptyDir.medium ?? '') === '');
}
