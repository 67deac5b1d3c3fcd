/**
 * Reads the eviction thresholds of the configuration, and computes their amounts. Pure. The configuration was validated when it was loaded
 * (config/validation/eviction.ts). Upstream: ParseThresholdConfig and UpdateContainerFsThresholds in pkg/kubelet/eviction/helpers.go.
 */
import { evictionSignals, type EvictionSignal } from '../../shared/contracts/eviction.ts';
import { parseDuration } from '../../shared/kubernetes/duration.ts';
import { parseQuantity, quantityOf, type Quantity } from '../../shared/kubernetes/quantity.ts';
import { isNoThreshold } from '../config/no-threshold.ts';
import type { KubeletConfiguration, StringMap } from '../config/kubelet-configuration.ts';

export type ThresholdSettings = Pick<
  KubeletConfiguration,
  'enforceNodeAllocatable' | 'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim'
>;

/** A quantity, or a share of the capacity between 0 and 1 in single precision, as upstream's. */
export type ThresholdValue = { readonly text: string } & ({ readonly quantity: Quantity } | { readonly share: number });

/** The signal must stay above the value. A threshold is identified by its object, which is the same in every pass. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** How long the threshold is met before pods are evicted. 0: a hard threshold. */
  readonly gracePeriodMs: number;
  readonly minReclaim: ThresholdValue | null;
}

export interface FilesystemLayout {
  /** Images, or writable layers, are not on the filesystem of the kubelet's root directory. */
  readonly dedicatedImageFs: boolean;
  /** Writable layers are not on the filesystem of images. */
  readonly splitContainerFs: boolean;
}

/** Returns the thresholds in a fixed order; upstream's order is random. */
export function parseThresholds(settings: ThresholdSettings): Threshold[] {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim, enforceNodeAllocatable } = settings;
  const minReclaim = (signal: EvictionSignal) => {
    const text = valueOf(evictionMinimumReclaim, signal);
    return text === undefined ? null : parseValue(text);
  };
  const hard = statements(evictionHard).map(([signal, value]) => ({ signal, value, gracePeriodMs: 0, minReclaim: minReclaim(signal) }));
  const soft = statements(evictionSoft).map(([signal, value]) => {
    const gracePeriod = valueOf(evictionSoftGracePeriod, signal);
    return { signal, value, gracePeriodMs: gracePeriod === undefined ? 0 : parseDuration(gracePeriod), minReclaim: minReclaim(signal) };
  });
  const all = [...hard, ...soft];
  if (!enforceNodeAllocatable.includes('pods')) return all;
  // A hard threshold for the node's memory also holds for the memory limit of all pods together.
  const ofAllocatable = all.filter((threshold) => threshold.signal === 'memory.available' && isHard(threshold));
  return [...all, ...ofAllocatable.map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' as const }))];
}

/**
 * Replaces the thresholds of containerfs, the filesystem of writable layers, by copies of the thresholds of another filesystem: imagefs when images and
 * writable layers share a dedicated filesystem, otherwise nodefs.
 */
export function withContainerFsThresholds(
  thresholds: readonly Threshold[],
  { dedicatedImageFs, splitContainerFs }: FilesystemLayout,
): Threshold[] {
  const copies: Partial<Record<EvictionSignal, EvictionSignal>> =
    dedicatedImageFs && !splitContainerFs
      ? { 'imagefs.available': 'containerfs.available', 'imagefs.inodesFree': 'containerfs.inodesFree' }
      : { 'nodefs.available': 'containerfs.available', 'nodefs.inodesFree': 'containerfs.inodesFree' };
  const others = thresholds.filter(({ signal }) => !signal.startsWith('containerfs.'));
  const lastOfKind = new Map(others.map((threshold) => [`${threshold.signal} ${isHard(threshold)}`, threshold]));
  // As upstream, a soft threshold without a grace period replaces the hard one.
  const added = [...lastOfKind.values()].flatMap((threshold) => {
    const signal = copies[threshold.signal];
    return signal ? [{ ...threshold, signal }] : [];
  });
  return [...others, ...added];
}

export function isHard({ gracePeriodMs }: Threshold): boolean {
  return gracePeriodMs === 0;
}

/** Upstream: GetThresholdQuantity. */
export function thresholdQuantity(value: ThresholdValue, capacity: number): Quantity {
  return 'quantity' in value ? value.quantity : quantityOf(Math.trunc(capacity * value.share), 'BinarySI');
}

/** Returns the configured values in the order of `evictionSignals`. 0% and 100% are no thresholds. */
function statements(entries: StringMap): [EvictionSignal, ThresholdValue][] {
  return evictionSignals.flatMap((signal): [EvictionSignal, ThresholdValue][] => {
    const text = valueOf(entries, signal);
    return text === undefined || isNoThreshold(text) ? [] : [[signal, parseValue(text)]];
  });
}

function parseValue(text: string): ThresholdValue {
  if (!text.endsWith('%')) return { text, quantity: parseQuantity(text) };
  return { text, share: Math.fround(Math.fround(Number.parseFloat(text)) / 100) };
}

function valueOf(entries: StringMap, signal: EvictionSignal): string | undefined {
  return Object.hasOwn(entries, signal) ? entries[signal] : undefined;
}
