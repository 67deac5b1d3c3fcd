/** The settings of the eviction manager, from the configuration. Pure. */
import type { KubeletFlags } from '../cli/options.ts';
import type { KubeletConfiguration } from '../config/kubelet-configuration.ts';
import { parseThresholds, type Threshold } from './thresholds.ts';

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  readonly pressureTransitionPeriodMs: number;
  readonly maxPodGracePeriodSeconds: number;
  /** Pods that exceed a limit of local storage are evicted. */
  readonly localStorageCapacityIsolation: boolean;
}

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
  };
}
