/** Computes how a pod is evicted, or why it is not. Pure. Upstream: synchronize and evictPod in pkg/kubelet/eviction/eviction_manager.go. */
import type { EvictionSignal, LocalStorageViolation, RankedPod } from '../../shared/contracts/eviction.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { isCriticalPod } from '../../shared/kubernetes/critical-pod.ts';
import { isMirrorPod, isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import type { FailedPod } from '../pods/termination/failed-pod.ts';
import { evictionMessage } from './eviction-message.ts';
import type { Violation } from './local-storage.ts';
import type { Observations } from './observe.ts';
import type { PodStats } from './pod-stats.ts';
import { resourceOf } from './signals.ts';
import { isHard, type Threshold } from './thresholds.ts';

/** `limit`: the pod exceeds a limit of local storage. The others are pressure on the node. */
export type EvictionCause = 'hard' | 'soft' | 'limit';

export interface Eviction {
  readonly pod: AllocatedPod;
  readonly cause: EvictionCause;
  /** The label of kubelet_evictions. */
  readonly signal: EvictionSignal | LocalStorageViolation['signal'];
  readonly gracePeriodSeconds: number;
  readonly failed: FailedPod;
  /** Of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Upstream's immediateEvictionGracePeriodSeconds. */
const immediateGracePeriodSeconds = 1;
const reason = 'Evicted';

export interface PressureEvictionInputs {
  /** What is reclaimed for. */
  readonly threshold: Threshold;
  /** The thresholds of this pass, and what they were compared with: for the message. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly maxPodGracePeriodSeconds: number;
}

export function pressureEviction(pod: AllocatedPod, stats: PodStats | undefined, inputs: PressureEvictionInputs): Eviction {
  const { threshold, thresholds, observations, maxPodGracePeriodSeconds } = inputs;
  const { signal } = threshold;
  const { message, annotations } = evictionMessage(resourceOf(signal), pod, stats, thresholds, observations);
  const ofPod = pod.spec.terminationGracePeriodSeconds ?? Infinity;
  return {
    pod,
    cause: isHard(threshold) ? 'hard' : 'soft',
    signal,
    gracePeriodSeconds: isHard(threshold) ? immediateGracePeriodSeconds : Math.min(maxPodGracePeriodSeconds, ofPod),
    failed: { reason, message, disruption: { reason: 'TerminationByKubelet', message } },
    annotations,
  };
}

/** The pod is at fault: it gets no DisruptionTarget condition. */
export function localStorageEviction(pod: AllocatedPod, { signal, message }: Violation): Eviction {
  return { pod, cause: 'limit', signal, gracePeriodSeconds: immediateGracePeriodSeconds, failed: { reason, message }, annotations: {} };
}

/** A static pod would not come back: it is admitted once. */
export function notEvictableBecause(pod: AllocatedPod): RankedPod['notEvictableBecause'] {
  if (!isCriticalPod(pod)) return null;
  if (isStaticPod(pod)) return 'static';
  return isMirrorPod(pod) ? 'mirror' : 'critical priority';
}
