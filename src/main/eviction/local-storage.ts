/**
 * Finds the pods that exceed a limit of local storage: the size of an emptyDir, the sum of the limits of the pod, or the limit of a container. Pure.
 * Upstream: localStorageEviction in pkg/kubelet/eviction/eviction_manager.go.
 */
import type { LocalStorageViolation } from '../../shared/contracts/eviction.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { podLimits } from '../../shared/kubernetes/pod-resources.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import { compareQuantities, formatQuantity, quantityOf, toQuantity, value, type Quantity } from '../../shared/kubernetes/quantity.ts';
import type { PodStats } from './pod-stats.ts';

export type Violation = Pick<LocalStorageViolation, 'signal' | 'usedBytes' | 'limitBytes' | 'message'>;

const resource = 'ephemeral-storage';

/** Returns null when the pod exceeds no limit, or when its usage is not known. */
export function localStorageViolation(
  pod: Pod,
  stats: PodStats,
  { layersOnRootFs, memoryVolumesResize = false }: { readonly layersOnRootFs: boolean; readonly memoryVolumesResize?: boolean },
): Violation | null {
  return emptyDirViolation(pod, stats, memoryVolumesResize) ?? podViolation(pod, stats) ?? containerViolation(pod, stats, layersOnRootFs);
}

/** Whether a limit of local storage can apply to the pod. Only such pods are measured in every pass. */
export function hasLocalStorageLimit({ spec }: Pod): boolean {
  const limits = [...spec.containers, ...(spec.initContainers ?? [])].some((container) => hasLimit(container.resources?.limits));
  return limits || (spec.volumes ?? []).some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined);
}

function hasLimit(limits: Readonly<Record<string, string>> | undefined): boolean {
  return limits?.[resource] !== undefined;
}

function emptyDirViolation({ spec }: Pod, { volumes }: PodStats, memoryVolumesResize: boolean): Violation | null {
  for (const { name, emptyDir } of spec.volumes ?? []) {
    if (emptyDir?.sizeLimit === undefined || (memoryVolumesResize && emptyDir.medium === 'Memory')) continue;
    const limit = toQuantity(emptyDir.sizeLimit);
    const usedBytes = volumes.find((volume) => volume.name === name)?.usedBytes;
    if (limit.nanos <= 0n || !exceeds(usedBytes, limit)) continue;
    const message = `Usage of EmptyDir volume ${goQuote(name)} exceeds the limit ${goQuote(formatQuantity(limit))}. `;
    return violation('emptydirfs.limit', usedBytes, limit, message);
  }
  return null;
}

function podViolation(pod: Pod, { ephemeralStorageBytes = 0 }: PodStats): Violation | null {
  const limit = podLimits(pod)[resource];
  if (!limit || !exceeds(ephemeralStorageBytes, limit)) return null;
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `;
  return violation('ephemeralpodfs.limit', ephemeralStorageBytes, limit, message);
}

function containerViolation({ spec }: Pod, { containers }: PodStats, layersOnRootFs: boolean): Violation | null {
  const limited = [...spec.containers, ...(spec.initContainers ?? []).filter(isRestartableInitContainer)];
  for (const { name, rootfs, logs } of containers) {
    const limit = toQuantity(limited.find((container) => container.name === name)?.resources?.limits?.[resource]);
    const usedBytes = (logs?.usedBytes ?? 0) + (layersOnRootFs ? (rootfs?.usedBytes ?? 0) : 0);
    // Zero stands for no limit.
    if (limit.nanos === 0n || !exceeds(usedBytes, limit)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit ${goQuote(formatQuantity(limit))}. `;
    return violation('ephemeralcontainerfs.limit', usedBytes, limit, message);
  }
  return null;
}

function exceeds(usedBytes: number | undefined, limit: Quantity): usedBytes is number {
  return usedBytes !== undefined && compareQuantities(quantityOf(usedBytes), limit) > 0;
}

function violation(signal: Violation['signal'], usedBytes: number, limit: Quantity, message: string): Violation {
  return { signal, usedBytes, limitBytes: value(limit), message };
}
