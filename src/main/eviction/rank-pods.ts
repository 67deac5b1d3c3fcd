/**
 * Orders pods for eviction: first those whose usage is not known, then those that use more than they request, then by priority, and by the usage above
 * the request. Pure. Upstream: buildSignalToRankFunc and the functions that it uses, in pkg/kubelet/eviction/helpers.go.
 */
import type { EvictionSignal } from '../../shared/contracts/eviction.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { compareQuantities, quantityOf, value } from '../../shared/kubernetes/quantity.ts';
import { podRequest } from './pod-request.ts';
import { diskUsage, type PodStats, type PodStatsReader, type FsStatsType } from './pod-stats.ts';
import { resourceOf } from './signals.ts';
import type { FilesystemLayout } from './thresholds.ts';

export interface RankedUsage {
  readonly pod: AllocatedPod;
  readonly priority: number;
  /** How much the pod uses of the starved resource. Null: not known. */
  readonly usage: number | null;
  /** How much the pod requests of the starved resource. */
  readonly request: number;
  /** Null for process IDs, which pods do not request. */
  readonly exceedsRequest: boolean | null;
  /** What the pod uses above its request. Upstream compares inodes with the request for bytes, which is kept: the order must be the same. */
  readonly excess: number;
}

/** The pod that is evicted first comes first. Equal pods keep their order. */
export function rankPods(
  signal: EvictionSignal,
  pods: readonly AllocatedPod[],
  stats: PodStatsReader,
  layout: FilesystemLayout,
): RankedUsage[] {
  return pods.map((pod) => rankedUsage(signal, pod, stats(pod), layout)).sort(compare);
}

function rankedUsage(signal: EvictionSignal, pod: AllocatedPod, stats: PodStats | undefined, layout: FilesystemLayout): RankedUsage {
  const resource = resourceOf(signal);
  const requested = podRequest(pod, resource);
  const request = value(requested);
  const exceeds = (usage: number) => compareQuantities(quantityOf(usage), requested) > 0;
  const common = { pod, priority: pod.spec.priority ?? 0, request };
  if (!stats || (stats.onlyProcesses && resource !== 'pids'))
    return { ...common, usage: null, exceedsRequest: resource === 'pids' ? null : false, excess: 0 };
  switch (resource) {
    case 'memory': {
      const usage = stats.memoryBytes ?? 0;
      return { ...common, usage, exceedsRequest: exceeds(usage), excess: usage - request };
    }
    case 'pids': {
      const usage = stats.processes ?? 0;
      return { ...common, usage, exceedsRequest: null, excess: usage };
    }
    case 'ephemeral-storage':
    case 'inodes': {
      const unit = resource === 'inodes' ? 'inodesUsed' : 'usedBytes';
      const usage = diskUsage(pod, stats, fsStatsTypes(signal, layout), unit);
      return { ...common, usage, exceedsRequest: exceeds(usage), excess: usage - value(podRequest(pod, 'ephemeral-storage')) };
    }
    default:
      return resource satisfies never;
  }
}

function compare(a: RankedUsage, b: RankedUsage): number {
  // For process IDs, which pods do not request, priority comes before an unknown usage.
  const byPriority = a.priority - b.priority;
  const byKnown = Number(b.usage === null) - Number(a.usage === null);
  if (a.exceedsRequest === null) return byPriority || byKnown || b.excess - a.excess;
  return byKnown || Number(b.exceedsRequest) - Number(a.exceedsRequest) || byPriority || b.excess - a.excess;
}

const everything: ReadonlySet<FsStatsType> = new Set<FsStatsType>(['rootfs', 'logs', 'localVolumes']);
const notLayers: ReadonlySet<FsStatsType> = new Set<FsStatsType>(['logs', 'localVolumes']);
const onlyLayers: ReadonlySet<FsStatsType> = new Set<FsStatsType>(['rootfs']);
const nothing: ReadonlySet<FsStatsType> = new Set();

/** The kinds of a pod's storage that are on the filesystem of the signal. */
export function fsStatsTypes(signal: EvictionSignal, { dedicatedImageFs, splitContainerFs }: FilesystemLayout): ReadonlySet<FsStatsType> {
  if (!dedicatedImageFs) return everything;
  const isImageFs = signal.startsWith('imagefs.');
  if (splitContainerFs) return isImageFs ? nothing : everything;
  return isImageFs || signal.startsWith('containerfs.') ? onlyLayers : notLayers;
}
