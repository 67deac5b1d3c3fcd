/** The limits of CrashLoopBackOff, from the configuration and the feature gates. Pure. Upstream: newCrashLoopBackOff in kubelet.go. */
import type { FeatureGates } from './feature-gates.ts';

/** Upstream's MaxContainerBackOff: the longest back-off, and the most that `crashLoopBackOff.maxContainerRestartPeriod` may be. */
export const maxContainerBackOffMs = 300_000;
const initialBackOffMs = 10_000;
/** With the gate ReduceDefaultCrashLoopBackOffDecay. */
const reduced = { initialMs: 1000, maxMs: 60_000 };

export interface ContainerBackOffLimits {
  readonly initialContainerBackOffMs: number;
  readonly maxContainerBackOffMs: number;
}

/** @param configuredMs `crashLoopBackOff.maxContainerRestartPeriod`; null: not set */
export function containerBackOffLimits(gates: Pick<FeatureGates, 'enabled'>, configuredMs: number | null): ContainerBackOffLimits {
  const isReduced = gates.enabled('ReduceDefaultCrashLoopBackOffDecay');
  const defaultMaxMs = isReduced ? reduced.maxMs : maxContainerBackOffMs;
  const maxMs = gates.enabled('KubeletCrashLoopBackOffMax') ? (configuredMs ?? defaultMaxMs) : defaultMaxMs;
  return {
    initialContainerBackOffMs: Math.min(isReduced ? reduced.initialMs : initialBackOffMs, maxMs),
    maxContainerBackOffMs: maxMs,
  };
}
