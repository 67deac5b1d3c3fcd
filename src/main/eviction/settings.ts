/** The settings of the eviction manager, from the configuration. Pure. */
import { computeFeatureGates } from '../config/feature-gates.ts';
import type { KubeletFlags } from '../config/options.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { parseThresholds, type Threshold } from './thresholds.ts';

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  readonly pressureTransitionPeriodMs: number;
  readonly maxPodGracePeriodSeconds: number;
  /** Pods that exceed a limit of local storage are evicted. */
  readonly localStorageCapacityIsolation: boolean;
  /** Gate InPlacePodVerticalScalingMemoryBackedVolumes: the kernel alone limits a volume in memory. Its limit may be lower than the size in force. */
  readonly memoryVolumesResize: boolean;
}

/** Reads the settings of a configuration that may change. Returns the same object while its fields are the same. */
export function liveEvictionSettings(
  config: KubeletConfiguration,
  flags: Pick<KubeletFlags, 'experimentalAllocatableIgnoreEviction'>,
): () => EvictionSettings {
  let read: { readonly fields: readonly unknown[]; readonly settings: EvictionSettings } | null = null;
  return () => {
    const fields = evictionFields.map((field) => config[field]);
    if (!read?.fields.every((value, index) => value === fields[index])) read = { fields, settings: evictionSettings(config, flags) };
    return read.settings;
  };
}

const evictionFields = [
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMinimumReclaim',
  'evictionPressureTransitionPeriod',
  'evictionMaxPodGracePeriod',
] as const satisfies readonly (keyof KubeletConfiguration)[];

/** With the flag experimental-allocatable-ignore-eviction, the memory of all pods has no threshold of its own. */
export function evictionSettings(
  config: KubeletConfiguration,
  { experimentalAllocatableIgnoreEviction }: Pick<KubeletFlags, 'experimentalAllocatableIgnoreEviction'>,
): EvictionSettings {
  return {
    thresholds: parseThresholds(experimentalAllocatableIgnoreEviction ? { ...config, enforceNodeAllocatable: [] } : config),
    pressureTransitionPeriodMs: config.evictionPressureTransitionPeriod,
    maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    memoryVolumesResize: computeFeatureGates(config.featureGates).gates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
  };
}
