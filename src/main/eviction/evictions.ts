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

/** `hard`, `soft`: the node is under pressure, by a threshold of this kind. `limit`: the pod exceeds a limit of local storage. */
export type EvictionCause = 'hard' | 'soft' | 'limit';

export interface Eviction {
  readonly pod: AllocatedPod;
  readonly cause: EvictionCause;
  /** The value of the label `eviction_signal` of the metric kubelet_evictions. */
  readonly signal: EvictionSignal | LocalStorageViolation['signal'];
  readonly gracePeriodSeconds: number;
  readonly failed: FailedPod;
  /** The annotations of the eviction's event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Upstream's immediateEvictionGracePeriodSeconds. */
const immediateGracePeriodSeconds = 1;
const reason = 'Evicted';

export interface PressureEvictionInputs {
  /** The pod is evicted for this threshold. */
  readonly threshold: Threshold;
  /** The due thresholds of this pass; for the message. */
  readonly thresholds: readonly Threshold[];
  /** The measurements that the thresholds were compared with; for the message. */
  readonly observations: Observations;
  readonly maxPodGracePeriodSeconds: number;
}

export function pressureEviction(pod: AllocatedPod, stats: PodStats | undefined, inputs: PressureEvictionInputs): Eviction {
  const { threshold, thresholds, observations, maxPodGracePeriodSeconds } = inputs;
  const { signal } = threshold;
  const { message, annotations } = evictionMessage(resourceOf(signal), pod, stats, thresholds, observations);
  const podGracePeriodSeconds = pod.spec.terminationGracePeriodSeconds ?? Infinity;
  return {
    pod,
    cause: isHard(threshold) ? 'hard' : 'soft',
    signal,
    gracePeriodSeconds: isHard(threshold) ? immediateGracePeriodSeconds : Math.min(maxPodGracePeriodSeconds, podGracePeriodSeconds),
    failed: { reason, message, disruption: { reason: 'TerminationByKubelet', message } },
    annotations,
  };
}

/** The pod is at fault: it gets no DisruptionTarget condition. */
export function localStorageEviction(pod: AllocatedPod, { signal, message }: Violation): Eviction {
  return { pod, cause: 'limit', signal, gracePeriodSeconds: immediateGracePeriodSeconds, failed: { reason, message }, annotations: {} };
}

/** Returns why the pod is never evicted; null when it may be. A static pod is admitted only once, so it would not start again. */
export function notEvictableBecause(pod: AllocatedPod): RankedPod['notEvictableBecause'] {
  if (!isCriticalPod(pod)) return null;
  if (isStaticPod(pod)) return 'static';
  return isMirrorPod(pod) ? 'mirror' : 'critical priority';
}
