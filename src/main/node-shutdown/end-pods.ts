/**
 * Ends the pods of the node before its shutdown, one group after the other. The next group begins when nothing is left of a group's pods, and their volumes are
 * unstaged and not in use any more for the attach-detach controller, or when its time is over; upstream waits for unmounts only. Upstream: killPods in pkg/kubelet/nodeshutdown/nodeshutdown_manager.go.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { FailedPod } from '../pods/termination/failed-pod.ts';
import type { KillPodOptions } from '../pods/workers/index.ts';
import { gracePeriodSeconds, type ShutdownGroup } from './shutdown-periods.ts';

export interface EndPodsDependencies {
  /** Resolves when no container of the pod runs. */
  readonly kill: (uid: PodUID, options: KillPodOptions) => Promise<void>;
  /** Resolves when nothing is left of the pod on this node. */
  readonly untilFinished: (uid: PodUID) => Promise<void>;
  /** Resolves when no volume is left on this node that no pod uses, or when the signal aborts. */
  readonly untilVolumesReleased: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const message = 'Pod was terminated in response to imminent node shutdown.';
const failed: FailedPod = { reason: 'Terminated', message, disruption: { reason: 'TerminationByKubelet', message } };

/** Ends no further group when the signal aborts: the shutdown was cancelled. */
export async function endPods(groups: readonly ShutdownGroup[], dependencies: EndPodsDependencies, signal: AbortSignal): Promise<void> {
  const { clock, logger, untilVolumesReleased } = dependencies;
  for (const { period, pods } of groups) {
    if (signal.aborted) return;
    const fields = { priority: period.priority, gracePeriod: period.shutdownGracePeriodSeconds };
    const isOver = new AbortController();
    // The driver of their volumes may be a pod of the next group. A group without pods may follow some that have been deleted.
    const ended = Promise.all(pods.map((pod) => endPod(pod, gracePeriodSeconds(pod, period), dependencies)))
      .then(() => untilVolumesReleased(isOver.signal))
      .then(() => 'ended' as const);
    const timeout = clock
      .sleep(period.shutdownGracePeriodSeconds * 1000, AbortSignal.any([signal, isOver.signal]))
      .then(() => 'timeout' as const)
      .catch(() => 'cancelled' as const);
    const result = await Promise.race([ended, timeout]);
    isOver.abort();
    if (result === 'ended' && pods.length > 0) logger.info(fields, 'Done waiting for all pods in group to terminate');
    else if (result === 'timeout') logger.warn(fields, 'Shutdown manager pod killing time out');
  }
}

/** Resolves always: one pod that cannot be ended delays the others only by the time of its group. */
async function endPod(pod: Pod, gracePeriod: number, { kill, untilFinished, logger }: EndPodsDependencies): Promise<void> {
  const { namespace, name } = pod.metadata;
  const uid = podUID(pod);
  const fields = { pod: `${namespace}/${name}`, podUID: uid };
  logger.info({ ...fields, gracePeriod }, 'Shutdown manager killing pod with gracePeriod');
  try {
    await kill(uid, { evicted: false, gracePeriodOverrideSeconds: gracePeriod, failed });
    await untilFinished(uid);
    logger.info(fields, 'Shutdown manager finished killing pod');
  } catch (err) {
    logger.warn({ ...fields, err: messageOf(err) }, 'Shutdown manager failed killing pod');
  }
}
