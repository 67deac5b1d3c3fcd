/**
 * Decides from the observations which thresholds are met, which conditions the node has, and for which thresholds pods may be evicted now. Pure.
 * Upstream: synchronize in pkg/kubelet/eviction/eviction_manager.go.
 *
 * A threshold that was met and has caused evictions stays met until its minimum reclaim is reached. A condition stays for the transition period after
 * its last threshold was met. The same measurement never causes a second eviction.
 */
import type { PressureCondition } from '../../shared/contracts/eviction.ts';
import { addQuantities, compareQuantities, quantityOf } from '../../shared/kubernetes/quantity.ts';
import type { Observation, Observations } from './observe.ts';
import { conditionOf } from './signals.ts';
import { isHard, thresholdQuantity, type Threshold } from './thresholds.ts';

export interface PressureState {
  /** The thresholds that are met, each with the monotonic ms since when. */
  readonly metSinceMs: ReadonlyMap<Threshold, number>;
  /** Monotonic ms at which a threshold of the condition was last met. */
  readonly lastObservedAtMs: ReadonlyMap<PressureCondition, number>;
  /** The conditions that the node has. */
  readonly conditions: ReadonlySet<PressureCondition>;
  /** The thresholds that have been met for their grace period, by priority. */
  readonly due: readonly Threshold[];
  readonly observations: Observations;
}

export const noPressure: PressureState = {
  metSinceMs: new Map(),
  lastObservedAtMs: new Map(),
  conditions: new Set(),
  due: [],
  observations: new Map(),
};

export interface PressureInputs {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly transitionPeriodMs: number;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface PressureResult {
  readonly state: PressureState;
  /** The due thresholds whose signal was measured since the state before: pods are evicted for the first one. */
  readonly toReclaim: readonly Threshold[];
}

export function computePressure(before: PressureState, inputs: PressureInputs): PressureResult {
  const { thresholds, observations, transitionPeriodMs, nowMs } = inputs;
  // A threshold that is not configured any more is no longer due.
  const stillDue = before.due.filter((threshold) => thresholds.includes(threshold));
  const met = new Set([...thresholdsMet(thresholds, observations), ...thresholdsMet(stillDue, observations, { withMinReclaim: true })]);
  const metSinceMs = new Map(Array.from(met, (threshold) => [threshold, before.metSinceMs.get(threshold) ?? nowMs]));
  const observedNow = Array.from(met, ({ signal }): [PressureCondition, number] => [conditionOf(signal), nowMs]);
  const lastObservedAtMs = new Map([...before.lastObservedAtMs, ...observedNow]);
  const conditions = [...lastObservedAtMs].filter(([, atMs]) => nowMs - atMs < transitionPeriodMs).map(([condition]) => condition);
  const due = [...metSinceMs].filter(([{ gracePeriodMs }, sinceMs]) => nowMs - sinceMs >= gracePeriodMs).map(([threshold]) => threshold);
  const state = { metSinceMs, lastObservedAtMs, conditions: new Set(conditions), due: due.sort(byPriority), observations };
  return { state, toReclaim: state.due.filter((threshold) => isMeasuredAgain(threshold, observations, before.observations)) };
}

/** Returns the thresholds that are met. With `withMinReclaim`, a threshold is met until its value plus its minimum reclaim is available. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  { withMinReclaim = false }: { readonly withMinReclaim?: boolean } = {},
): Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    return observed !== undefined && isMet(threshold, observed, withMinReclaim);
  });
}

function isMet({ value, minReclaim }: Threshold, { available, capacity }: Observation, withMinReclaim: boolean): boolean {
  const quantity = thresholdQuantity(value, capacity);
  const required = withMinReclaim && minReclaim ? addQuantities(quantity, thresholdQuantity(minReclaim, capacity)) : quantity;
  return compareQuantities(required, quantityOf(available)) > 0;
}

/** Compares the times for equality only: when the clock is set back, a new measurement has an earlier time. */
function isMeasuredAgain({ signal }: Threshold, now: Observations, before: Observations): boolean {
  const observed = now.get(signal);
  return observed !== undefined && observed.atMs !== before.get(signal)?.atMs;
}

/** Memory first, as upstream; then hard thresholds. Upstream chooses among other thresholds at random. */
function byPriority(a: Threshold, b: Threshold): number {
  const rank = (threshold: Threshold) => (conditionOf(threshold.signal) === 'MemoryPressure' ? 0 : 2) + (isHard(threshold) ? 0 : 1);
  return rank(a) - rank(b);
}
