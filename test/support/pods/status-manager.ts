/** A status manager with an in-memory API server, and helpers that change both. */
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import type { StatusUpdate } from '../../../src/main/pods/api-status/index.ts';
import { StatusManager } from '../../../src/main/pods/status/index.ts';
import type { PodTimelines } from '../../../src/main/timeline/index.ts';
import type { Pod, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { FakeClock, settle } from '../fake-clock.ts';
import { FakePodApi } from '../api-server/fake-pod-api.ts';
import { aLogger } from '../logger.ts';
import { aPodTimelines } from './pod-parts.ts';
import { aPod } from './pods.ts';

export const startTime = '2026-01-01T00:00:00Z';
export const deletionTimestamp = startTime;

export function anApiPod(name = 'web', fields: { metadata?: Partial<Pod['metadata']>; status?: PodStatus } = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'api' };
  return aPod({ metadata: { name, uid: `uid-${name}`, annotations, ...fields.metadata }, status: fields.status ?? { phase: 'Pending' } });
}

export function aManager(options: { readonly firstStatusDelayMs?: number; readonly timelines?: PodTimelines } = {}) {
  const api = new FakePodApi();
  const clock = new FakeClock();
  const podManager = new PodManager();
  const logs = aLogger();
  const manager = new StatusManager({
    client: api,
    apiPod: api.apiPod,
    podManager,
    clock,
    logger: logs.logger,
    random: () => 0,
    firstStatusDelayMs: 0,
    timelines: aPodTimelines(clock),
    ...options,
  });
  const setStatus = async (pod: Pod, status: PodStatus, fields: Partial<StatusUpdate> = {}) => {
    manager.set({ pod, status: { startTime, ...status }, couldHaveRunningContainers: true, isFinished: false, ...fields });
    await settle();
  };
  /** Delivers all objects through the watch, and to the pod manager. */
  const syncWatch = async () => {
    api.syncWatch();
    for (const pod of api.watched.values()) podManager.set(pod);
    await settle();
  };
  return { api, clock, podManager, logs, manager, setStatus, syncWatch };
}
