/** Creates the pods' timelines, which follow the pods that the sources want. */
import type { Clock } from '../../shared/time/clock.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { timelineCapacity, timelineTable } from '../../shared/timeline/timeline-table.ts';
import { isMirrorPod } from '../../shared/kubernetes/static-pod.ts';
import { isPodRunning } from '../pods/pod-running.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import type { RuntimeStatusCache } from '../pods/runtime-status-cache.ts';
import { PodTimelines } from '../timeline/index.ts';

export interface TimelinesStart {
  readonly clock: Clock;
  readonly maxPods: number;
  readonly podManager: PodManager;
  readonly cache: RuntimeStatusCache;
  readonly logger: Logger;
}

export function startTimelines({ clock, maxPods, podManager, cache, logger }: TimelinesStart): PodTimelines {
  const timelines = new PodTimelines({ buffer: timelineTable.create(timelineCapacity(maxPods)), clock, logger });
  podManager.onChange((pod, change) => {
    if (isMirrorPod(pod)) return;
    if (change === 'set') timelines.see(pod, isPodRunning(cache.get(podUID(pod))));
    else timelines.objectGone(podUID(pod));
  });
  return timelines;
}
