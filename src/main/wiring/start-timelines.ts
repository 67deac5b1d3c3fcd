/** Creates the pods' timelines, and lets them follow the pod manager and the lives of pods. */
import { podUID } from '../../shared/kubernetes/ids.ts';
import { timelineCapacity, timelineTable } from '../../shared/timeline/timeline-table.ts';
import { isMirrorPod } from '../../shared/kubernetes/static-pod.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { PodTimelines } from '../timeline/index.ts';
import type { KubeletContext } from './kubelet-context.ts';

export interface TimelinesStart extends Pick<KubeletContext, 'clock' | 'options' | 'log' | 'podLifecycle'> {
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
}

export function startTimelines({ clock, options, log, podLifecycle, podManager, cache }: TimelinesStart): PodTimelines {
  const buffer = timelineTable.create(timelineCapacity(options.config.maxPods));
  const timelines = new PodTimelines({ buffer, clock, logger: log('pod-timelines') });
  podManager.onChange((pod, change) => {
    if (isMirrorPod(pod)) return;
    if (change === 'set') timelines.see(pod, isPodRunning(cache.get(podUID(pod))));
    else timelines.objectGone(podUID(pod));
  });
  podLifecycle.register({
    name: 'timelines',
    rejected: (pod, why) => timelines.rejected(podUID(pod), why),
    foundInRuntime: (status) => timelines.seeInRuntime(status),
    terminating: (uid, gracePeriodSeconds) => timelines.terminating(uid, gracePeriodSeconds),
    finished: (uid) => timelines.finished(uid),
  });
  return timelines;
}
