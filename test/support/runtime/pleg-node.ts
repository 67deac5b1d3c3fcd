/** The parts of the pleg thread, on an in-memory runtime and a fake clock. */
import type { TestContext } from 'node:test';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import type { PlegNotification } from '../../../src/shared/contracts/pleg.ts';
import type { CreatedObjects } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import { ContainerEventType } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { Pleg } from '../../../src/workers/pleg/pleg.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakePlegRuntime } from './fake-pleg-runtime.ts';
import { aLogger } from '../logger.ts';

interface Options {
  readonly maxPods?: number;
  readonly useEventStream?: boolean;
}

/** Creates a Pleg before its first relist. `runtime.addPod` adds pods; `clock.advance` advances the time. */
export function aPleg(t: TestContext, { maxPods = 10, useEventStream = false }: Options = {}) {
  const runtime = new FakePlegRuntime();
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const posted: PlegNotification[] = [];
  const cache = new RuntimeStatusCache();
  const buffer = createRuntimeSnapshot(maxPods);
  let relists = 0;
  let waits = false;
  const start = () => {
    const pleg = new Pleg({
      runtime,
      snapshot: new RuntimeSnapshotWriter(buffer),
      post: (message) => {
        posted.push(structuredClone(message));
        cache.apply(structuredClone(message));
      },
      relistPeriodMs: 1000,
      useEventStream,
      onListing: () => (waits = true),
      onListed: () => (waits = false),
      onRelisted: () => (relists += 1),
      readMessage: async () => '',
      clock,
      logger,
    });
    t.after(() => pleg.close());
    return {
      /** Inspects the pod for main. Resolves with the status that main's cache has then. */
      inspectPod: async (uid: PodUID, created?: CreatedObjects) => {
        await pleg.inspectPod(uid, created);
        return cache.get(uid);
      },
      relist: () => pleg.relist(),
      close: () => pleg.close(),
    };
  };
  return {
    runtime,
    clock,
    lines,
    start,
    snapshot: new RuntimeSnapshotReader(buffer),
    relists: () => relists,
    /** The thread waits for the runtime. */
    waits: () => waits,
    /**
     * Returns a summary of the notifications since the last call: `events`, `status` and `gone`, without the notifications that only end
     * a relist, and without the results for main that have no change.
     */
    takeNotifications: () =>
      posted
        .splice(0)
        .filter(({ unchanged }) => !unchanged)
        .flatMap(({ events, statuses, removed: gone }) => [
          ...statuses.map((status) => `status ${summarize(status)}`),
          ...gone.map((uid) => `gone ${uid}`),
          ...events.map((event) => ('containerID' in event ? `${event.type} ${event.containerID}` : `${event.type} ${event.podUID}`)),
        ]),
    posted,
  };
}

/** `u1: s=ready app=running`, followed by ` !` and the reason of a failure. */
export function summarize({ podUID, sandboxes, containers, failure }: RuntimePodStatus): string {
  const parts = [
    ...sandboxes.map(({ id, state }) => `${id.slice(podUID.length + 1)}=${state}`),
    ...containers.map(({ name, state }) => `${name}=${state}`),
  ];
  return `${podUID}: ${parts.sort().join(' ')}${failure ? ` !${failure.reason}` : ''}`;
}

export const u1 = 'u1' as PodUID;
export const died = (id: string, podUID: string) => ({
  containerId: id,
  containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT,
  podSandboxStatus: { metadata: { uid: podUID } },
});
