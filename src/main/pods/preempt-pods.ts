/** Ends less important pods for a critical one. Upstream: pkg/kubelet/preemption/preemption.go. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { preemptions } from '../../shared/metrics/definitions/pods.ts';
import { podReference, type EventSink } from '../events/index.ts';
import type { Preemption } from './admission/index.ts';
import type { FailedPod } from './termination/failed-pod.ts';
import type { PodWorkers } from './workers/index.ts';

export interface PreemptionDependencies {
  readonly podWorkers: Pick<PodWorkers, 'kill'>;
  readonly events: EventSink;
  readonly logger: Logger;
}

/** Upstream's texts. */
const preemptedPod: FailedPod = {
  reason: 'Preempting',
  message: 'Preempted in order to admit critical pod',
  disruption: { reason: 'TerminationByKubelet', message: 'Pod was preempted by Kubelet to accommodate a critical pod.' },
};

/** Ends the victims. Resolves also when a victim does not end in time; its termination continues. */
export async function preemptPods(
  { podWorkers, events, logger }: PreemptionDependencies,
  pod: Pod,
  { victims, resources }: Preemption,
): Promise<void> {
  const end = async (victim: Pod) => {
    events.record({ object: podReference(victim), type: 'Warning', reason: preemptedPod.reason, message: preemptedPod.message });
    logger.info({ pod: nameOf(victim), podUID: podUID(victim), resources, for: nameOf(pod) }, 'Preempting a pod to free up resources');
    try {
      await podWorkers.kill(podUID(victim), { evicted: true, gracePeriodOverrideSeconds: null, failed: preemptedPod });
      preemptions.inc({ preemption_signal: resources[0] ?? '' });
    } catch (err) {
      logger.error({ pod: nameOf(victim), podUID: podUID(victim), err }, 'Failed to evict a pod');
    }
  };
  await Promise.all(victims.map(end));
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
