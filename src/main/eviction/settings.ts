/** The settings of the eviction manager, from the configuration. Pure. */
import type { FeatureGates } from '../config/feature-gates.ts';
import type { KubeletFlags } from '../config/options.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { parseThresholds, type Threshold } from './thresholds.ts';

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  readonly pressureTransitionPeriodMs: number;
  readonly maxPodGracePeriodSeconds: number;
  /** Pods that exceed a limit of local storage are evicted. */
  readonly localStorageCapacityIsolation: boolean;
  /** Gate InPlacePodVerticalScalingMemoryBackedVolumes: only the kernel limits a volume in memory, because a resize may not have set the spec's limit yet. */
  readonly memoryVolumesResize: boolean;
}

/** The flags and feature gates that eviction reads. They do not change while the kubelet runs; the configuration may. */
export interface FixedEvictionOptions {
  readonly flags: Pick<KubeletFlags, 'experimentalAllocatableIgnoreEviction'>;
  readonly featureGates: FeatureGates;
}

/** Reads the settings of a configuration that may change. Returns the same object while its fields are the same. */
export function liveEvictionSettings(config: KubeletConfiguration, options: FixedEvictionOptions): () => EvictionSettings {
  let read: { readonly fields: readonly unknown[]; readonly settings: EvictionSettings } | null = null;
  return () => {
    const fields = evictionFields.map((field) => config[field]);
    if (!read?.fields.every((value, index) => value === fields[index])) read = { fields, settings: evictionSettings(config, options) };
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
function evictionSettings(config: KubeletConfiguration, { flags, featureGates }: FixedEvictionOptions): EvictionSettings {
  return {
    thresholds: parseThresholds(flags.experimentalAllocatableIgnoreEviction ? { ...config, enforceNodeAllocatable: [] } : config),
    pressureTransitionPeriodMs: config.evictionPressureTransitionPeriod,
    maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
    memoryVolumesResize: featureGates.enabled('InPlacePodVerticalScalingMemoryBackedVolumes'),
  };
}
