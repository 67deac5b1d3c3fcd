/** What the sync pool's tasks ask main for: images, permits to start, values of the API server, events. */
import { systemClock as clock } from '../../shared/time/clock.ts';
import type { Observers } from './observers.ts';
import type { EventSink } from '../pods/events.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { PodStartLatency } from '../pods/pod-start-latency.ts';
import type { PodStatusCache } from '../pods/pod-status-cache.ts';
import { StartAdmission } from '../pods/start-admission.ts';
import { startRequest } from '../pods/start-request.ts';
import type { PodSyncHandlers } from '../threads/pod-sync-line.ts';
import type { PodValues } from '../volumes/index.ts';

export interface TaskAnswersOptions {
  readonly observers: Observers;
  readonly podManager: PodManager;
  readonly cache: PodStatusCache;
  readonly events: EventSink;
  /** Undefined: standalone. */
  readonly values: PodValues | undefined;
  readonly cores: number;
}

export function taskAnswers({ observers, podManager, cache, events, values, cores }: TaskAnswersOptions): PodSyncHandlers {
  const startLatency = new PodStartLatency({ podManager, runtimeStatus: (uid) => cache.get(uid), clock });
  const admission = new StartAdmission({ clock, cores });
  return {
    ensureImage: (request) => startLatency.whilePulling(request.podUID, () => observers.images.ensureImage(request)),
    startPermit: (kind, task, over) => admission.acquire(startRequest(kind, task), over),
    tryStartPermit: (kind, task) => admission.tryAcquire(startRequest(kind, task)),
    event: (event) => events.record(event),
    // Only a sync asks for values.
    ...(values && { values: async (refs, task) => (task.kind === 'sync' ? values.values(refs, task.pod) : []) }),
  };
}
