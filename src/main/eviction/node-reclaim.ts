/** Which steps free a resource without ending a pod. Pure. Upstream: buildSignalToNodeReclaimFuncs in pkg/kubelet/eviction/helpers.go. */
import type { EvictionSignal, NodeReclaim } from '../../shared/contracts/eviction.ts';
import { conditionOf } from './signals.ts';
import type { FilesystemLayout } from './thresholds.ts';

/** In the order in which they run. */
export function nodeReclaimSteps(signal: EvictionSignal, { dedicatedImageFs, splitContainerFs }: FilesystemLayout): readonly NodeReclaim[] {
  if (conditionOf(signal) !== 'DiskPressure') return [];
  if (!dedicatedImageFs) return ['deadContainers', 'unusedImages'];
  if (splitContainerFs) return signal.startsWith('imagefs.') ? ['unusedImages'] : ['deadContainers'];
  return signal.startsWith('nodefs.') ? [] : ['deadContainers', 'unusedImages'];
}
