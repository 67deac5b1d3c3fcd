/**
 * Bounds the mounts that a pod makes in the mount table of the node: volumes in memory, and one for each subPath. Without a bound, four pods could use up what
 * the kernel allows, and each read of a table with 30,000 mounts blocks a sync thread for 0.2 s. Pure.
 */
import type { Pod, Volume } from '../../../../shared/kubernetes/api.ts';
import { volumesToMount } from '../../../../shared/kubernetes/volume-kind.ts';
import { findPlugin } from './plugins/volume-plugins.ts';

/** 110 pods with as many fit into the kernel's default fs.mount-max of 100,000. */
export const maxPodMounts = 900;

/** Returns the problem, or null. */
export function mountCountProblem(pod: Pod): string | null {
  const mounts = volumesToMount(pod).filter(isMount).length + subPaths(pod);
  if (mounts <= maxPodMounts) return null;
  return `the pod has ${mounts} volumes in memory and subPaths, more than the ${maxPodMounts} mounts that a pod may have`;
}

function isMount(volume: Volume): boolean {
  try {
    const { plugin, source } = findPlugin(volume);
    return plugin.isMount(source);
  } catch {
    // This kubelet does not support the volume, and refuses it later.
    return false;
  }
}

function subPaths({ spec }: Pod): number {
  let count = 0;
  for (const containers of [spec.containers, spec.initContainers ?? [], spec.ephemeralContainers ?? []])
    for (const { volumeMounts = [] } of containers)
      count += volumeMounts.filter(({ subPath, subPathExpr }) => subPath || subPathExpr).length;
  return count;
}
