/** A fake node with pod handlers and housekeeping. It admits every pod unless `rejection` is set, and records the requests to collect containers. */
import { asAllocated } from '../../../src/main/allocation/index.ts';
import { Housekeeping } from '../../../src/main/pods/housekeeping/housekeeping.ts';
import { PodFaults } from '../../../src/main/pods/workers/pod-faults.ts';
import { PodHandlers, type PodHandlersDependencies } from '../../../src/main/pods/pod-handlers.ts';
import type { ContainerGcRequest } from '../../../src/shared/contracts/images.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { settle } from '../fake-clock.ts';
import { FakeNode } from './fake-node.ts';

export function aNodeWithHandlers(node = new FakeNode(), over: Partial<PodHandlersDependencies> = {}) {
  const collected: ContainerGcRequest[] = [];
  const setup = {
    node,
    collected,
    inspected: [] as PodUID[],
    podDirectories: [] as PodUID[],
    podCgroups: [] as PodUID[],
    rejection: null as { reason: string; message: string } | null,
    /** While set, the collection of dead containers fails with this error. */
    gcError: null as Error | null,
    removedContainers: 0,
  };
  const { podManager, podStates, podLifecycle, activePods, statuses, cache, clock, workers: podWorkers } = node;
  const { logger } = node.logs;
  const events = { record: (event: RecordedEvent) => void node.events.push(event) };
  const handlers = new PodHandlers({
    podManager,
    podWorkers,
    podStates,
    activePods,
    statuses,
    events,
    faults: new PodFaults({ events, clock, logger, random: () => 0 }),
    admitHandlers: [() => (setup.rejection ? { rejection: setup.rejection } : null)],
    exclusiveAllocations: { isNeededBy: () => false, allocate: async () => null },
    runtimeStatus: () => null,
    allocationManager: {
      isAdmitted: () => false,
      podToAdmit: (pod) => pod,
      setAllocatedResources: () => {},
      updatePodFromAllocation: asAllocated,
      isResizing: () => false,
    },
    refreshNode: null,
    observers: podLifecycle,
    sourcesReady: () => true,
    clock,
    logger,
    ...over,
  });
  const housekeeping = new Housekeeping({
    podManager,
    podWorkers,
    podStates,
    cache,
    statuses,
    start: (pod) => handlers.start(pod),
    activePods: () => activePods.list(),
    inspectPod: async (uid) => void setup.inspected.push(uid),
    listPodDirectories: async () => setup.podDirectories,
    listPodCgroups: async () => setup.podCgroups,
    collectContainers: async (request) => {
      collected.push(request);
      if (setup.gcError) throw setup.gcError;
      return { removedContainers: setup.removedContainers };
    },
    gcPolicy: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    nodeName: 'node-1',
    events,
    clock,
    logger,
  });
  const runHousekeeping = async () => {
    housekeeping.run();
    podLifecycle.keepOnly(new Set([...podManager.uids(), ...podStates.uids()]));
    await settle();
  };
  return Object.assign(setup, { handlers, housekeeping, runHousekeeping });
}
