/** Single parts of main that handle pods, with what the wiring gives each of them where a test gives nothing else. */
import { asActuated, type AllocatedPod } from '../../../src/main/allocation/index.ts';
import { ApiStatusCache, type ApiStatusCacheDependencies } from '../../../src/main/pods/api-status/api-status-cache.ts';
import { ProbeManager } from '../../../src/main/probes/index.ts';
import { PodTimelines } from '../../../src/main/timeline/index.ts';
import { Listeners } from '../../../src/shared/concurrency/listeners.ts';
import { timelineTable } from '../../../src/shared/timeline/timeline-table.ts';
import { FakeClock } from '../fake-clock.ts';
import { silentLogger as logger } from '../logger.ts';
import { statusFeaturesWith } from './status-features.ts';

/** Of a node with room for four pods. */
export function aPodTimelines(clock = new FakeClock()): PodTimelines {
  return new PodTimelines({ buffer: timelineTable.create(4), clock, logger });
}

/** Of a node whose pods have no probes, and are not resized. */
export function anApiStatusCache(dependencies: Partial<ApiStatusCacheDependencies> = {}): ApiStatusCache {
  const clock = new FakeClock();
  return new ApiStatusCache({
    node: () => ({ hostIPs: ['192.0.2.1'], runtimeName: 'containerd' }),
    mirrorOf: () => undefined,
    sink: { set: () => {}, expedite: () => {} },
    probes: new ProbeManager({
      thread: { setPods: async () => {}, removePods: async () => {}, starts: new Listeners() },
      runtimeStatus: () => null,
      forgetsOnRestart: false,
      gates: { H2CContainerProbe: false, GRPCContainerProbeTLS: false },
      clock,
      logger,
    }),
    resizeConditions: { get: () => undefined },
    actuatedPod: asActuated,
    features: statusFeaturesWith(),
    clock,
    logger,
    ...dependencies,
  });
}

/** What the status of a pod is made of that has no results of probes, and whose allocated resources are in force. */
export function plainStatusInput(pod: AllocatedPod) {
  return { pod, actuated: asActuated(pod), probeResults: () => undefined, isStarting: () => false };
}
