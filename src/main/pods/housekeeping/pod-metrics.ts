/** Updates the pod gauges in each round of housekeeping. Upstream: HandlePodCleanups. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { activePods, desiredPods, managedEphemeralContainers, mirrorPods, workingPods } from '../../../shared/metrics/definitions/pods.ts';
import type { PodWorkerSync } from '../workers/index.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';

/** Upstream's names of the pod worker states (PodWorkerState). */
const lifecycles = { syncing: 'sync', terminating: 'terminating', terminated: 'terminated' } as const;
const combinations = [
  { config: 'desired', static: 'true' },
  { config: 'desired', static: '' },
  { config: 'orphan', static: 'true' },
  { config: 'orphan', static: '' },
  { config: 'runtime_only', static: 'unknown' },
] as const;

export function updatePodMetrics(
  desired: readonly Pod[],
  active: readonly Pod[],
  mirrors: readonly Pod[],
  knownPods: Iterable<PodWorkerSync>,
): void {
  mirrorPods.set(mirrors.length);
  managedEphemeralContainers.set(desired.reduce((count, { spec }) => count + (spec.ephemeralContainers?.length ?? 0), 0));
  for (const [gauge, pods] of [
    [desiredPods, desired],
    [activePods, active],
  ] as const) {
    const staticPods = pods.filter(isStaticPod).length;
    gauge.set(staticPods, { static: 'true' });
    gauge.set(pods.length - staticPods, { static: '' });
  }
  const counts = new Map<string, number>();
  for (const { state, orphan, isStatic } of knownPods) {
    const config = isStatic === undefined ? 'runtime_only' : orphan ? 'orphan' : 'desired';
    const key = `${config} ${state} ${isStatic === undefined ? 'unknown' : isStatic ? 'true' : ''}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const combination of combinations) {
    for (const [state, lifecycle] of Object.entries(lifecycles)) {
      const count = counts.get(`${combination.config} ${state} ${combination.static}`) ?? 0;
      workingPods.set(count, { ...combination, lifecycle });
    }
  }
}
