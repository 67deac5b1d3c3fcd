/** Computes the dry run of a pass, with the functions that a pass uses. Pure. */
import {
  evictionSignals,
  type EvictionPlan,
  type EvictionSignal,
  type LocalStorageViolation,
  type ObservedSignal,
  type PlannedAction,
  type PlannedCondition,
  type PlannedThreshold,
  type PodRanking,
  type PressureCondition,
} from '../../shared/contracts/eviction.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { qosClass } from '../../shared/kubernetes/qos-class.ts';
import { value } from '../../shared/kubernetes/quantity.ts';
import { chooseThreshold, chooseVictim, type Ongoing } from './choose.ts';
import { notEvictableBecause, pressureEviction } from './evictions.ts';
import { hasLocalStorageLimit, localStorageViolation } from './local-storage.ts';
import { nodeReclaimSteps } from './node-reclaim.ts';
import type { Observation } from './observe.ts';
import type { PodStatsReader } from './pod-stats.ts';
import type { PressureState } from './pressure.ts';
import { rankPods } from './rank-pods.ts';
import type { EvictionSettings } from './settings.ts';
import { resourceOf } from './signals.ts';
import { isHard, thresholdQuantity, type FilesystemLayout, type Threshold, type ThresholdValue } from './thresholds.ts';

export interface PlanInputs {
  readonly settings: EvictionSettings;
  readonly state: PressureState;
  readonly layout: FilesystemLayout;
  readonly isLayoutKnown: boolean;
  readonly pods: readonly AllocatedPod[];
  readonly stats: PodStatsReader;
  /** Whether the pod was evicted and has not finished. */
  readonly isEvicted: (uid: PodUID) => boolean;
  readonly ongoing: Ongoing;
  /** The signal that pods are ranked for. Null: the signal of the planned action. */
  readonly signal: EvictionSignal | null;
  /** Wall-clock time. */
  readonly lastPassAtMs: number | null;
  /** What is wrong with the last pass; null when nothing is. */
  readonly problem: string | null;
  /** Now, in wall-clock time. */
  readonly wallMs: number;
  /** Now, in monotonic time. */
  readonly nowMs: number;
}

export function computePlan(inputs: PlanInputs): EvictionPlan {
  const { settings, state, layout, isLayoutKnown, lastPassAtMs, problem, wallMs } = inputs;
  // While every due threshold must wait, the plan shows the first of them.
  const due = chooseThreshold(state.due, layout, inputs.ongoing) ?? state.due[0];
  const signal = inputs.signal ?? due?.signal ?? 'memory.available';
  return {
    plannedAt: toTime(wallMs),
    lastPassAt: lastPassAtMs === null ? null : toTime(lastPassAtMs),
    problem,
    filesystems: isLayoutKnown ? layout : null,
    pressureTransitionPeriodSeconds: settings.pressureTransitionPeriodMs / 1000,
    maxPodGracePeriodSeconds: settings.maxPodGracePeriodSeconds,
    conditions: conditions.map((type) => plannedCondition(type, inputs)),
    signals: evictionSignals.flatMap((name) => observedSignal(name, state.observations.get(name), wallMs)),
    thresholds: settings.thresholds.toSorted(bySignal).map((threshold) => plannedThreshold(threshold, inputs)),
    isReclaiming: inputs.ongoing.isReclaiming,
    action: due ? plannedAction(due, inputs) : null,
    ranking: ranking(signal, inputs),
    localStorageViolations: settings.localStorageCapacityIsolation ? violations(inputs) : [],
  };
}

const conditions: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

function plannedCondition(type: PressureCondition, { state, nowMs, wallMs }: PlanInputs): PlannedCondition {
  const atMs = state.lastObservedAtMs.get(type);
  return { type, status: state.conditions.has(type), lastObservedAt: atMs === undefined ? null : toTime(wallMs - (nowMs - atMs)) };
}

function observedSignal(signal: EvictionSignal, observed: Observation | undefined, wallMs: number): ObservedSignal[] {
  if (!observed) return [];
  const { available, capacity, atMs } = observed;
  const ageSeconds = Math.max(0, wallMs - atMs) / 1000;
  return [{ signal, resource: resourceOf(signal), available, capacity, observedAt: toTime(atMs), ageSeconds }];
}

function plannedThreshold(threshold: Threshold, { state, nowMs }: PlanInputs): PlannedThreshold {
  const { signal, gracePeriodMs, minReclaim } = threshold;
  const observed = state.observations.get(signal);
  // A share of the capacity has no quantity before the signal was observed.
  const quantity = (amount: ThresholdValue) =>
    'quantity' in amount || observed ? value(thresholdQuantity(amount, observed?.capacity ?? 0)) : null;
  const sinceMs = state.metSinceMs.get(threshold);
  return {
    signal,
    resource: resourceOf(signal),
    kind: isHard(threshold) ? 'hard' : 'soft',
    value: threshold.value.text,
    quantity: quantity(threshold.value),
    minReclaim: minReclaim?.text ?? null,
    minReclaimQuantity: minReclaim ? quantity(minReclaim) : null,
    available: observed?.available ?? null,
    met: sinceMs !== undefined,
    gracePeriodSeconds: gracePeriodMs / 1000,
    graceLeftSeconds: sinceMs === undefined ? null : Math.max(0, sinceMs + gracePeriodMs - nowMs) / 1000,
  };
}

function plannedAction(threshold: Threshold, inputs: PlanInputs): PlannedAction {
  const { layout, pods, stats, ongoing } = inputs;
  const { signal } = threshold;
  const victim = chooseVictim(rankPods(signal, pods, stats, layout), threshold, ongoing);
  return {
    signal,
    resource: resourceOf(signal),
    threshold: threshold.value.text,
    nodeReclaim: nodeReclaimSteps(signal, layout),
    victim: victim ? podUID(victim.pod) : null,
  };
}

/** When no threshold of the signal is due, the messages are written as if the first threshold of the signal were met. */
function ranking(signal: EvictionSignal, { settings, state, layout, pods, stats, isEvicted }: PlanInputs): PodRanking {
  const { observations } = state;
  const ofSignal = (threshold: Threshold) => threshold.signal === signal;
  const threshold = state.due.find(ofSignal) ??
    settings.thresholds.find(ofSignal) ?? { signal, value: noValue, gracePeriodMs: 0, minReclaim: null };
  const thresholds = state.due.some(ofSignal) ? state.due : threshold.value === noValue ? [] : [threshold];
  const { maxPodGracePeriodSeconds } = settings;
  return {
    signal,
    resource: resourceOf(signal),
    pods: rankPods(signal, pods, stats, layout).map(({ pod, priority, usage, request, exceedsRequest }) => {
      const eviction = pressureEviction(pod, stats(pod), { threshold, thresholds, observations, maxPodGracePeriodSeconds });
      return {
        namespace: pod.metadata.namespace,
        name: pod.metadata.name,
        uid: podUID(pod),
        priority,
        qosClass: qosClass(pod),
        usage,
        request,
        exceedsRequest,
        notEvictableBecause: notEvictableBecause(pod),
        isEvicted: isEvicted(podUID(pod)),
        message: eviction.failed.message,
        gracePeriodSeconds: eviction.gracePeriodSeconds,
      };
    }),
  };
}

/** Stands for the value when the signal has no threshold at all. */
const noValue: ThresholdValue = { text: '', share: 0 };

function violations({ pods, stats, layout, settings }: PlanInputs): LocalStorageViolation[] {
  return pods.filter(hasLocalStorageLimit).flatMap((pod) => {
    const usage = stats(pod);
    const found = usage && localStorageViolation(pod, usage, { ...settings, layersOnRootFs: !layout.dedicatedImageFs });
    const { namespace, name } = pod.metadata;
    return found ? [{ namespace, name, uid: podUID(pod), ...found, notEvictableBecause: notEvictableBecause(pod) }] : [];
  });
}

function bySignal(a: Threshold, b: Threshold): number {
  return evictionSignals.indexOf(a.signal) - evictionSignals.indexOf(b.signal) || a.gracePeriodMs - b.gracePeriodMs;
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
