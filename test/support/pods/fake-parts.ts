/** Starts what a FakeNode consists of: the daemon's own wiring, with threads and a runtime that the node plays. */
import { ExclusiveAllocations } from '../../../src/main/allocation/index.ts';
import type { StatusUpdateSink } from '../../../src/main/pods/api-status/index.ts';
import { Shutdown } from '../../../src/main/shutdown.ts';
import type { PodTask, TaskHandlers } from '../../../src/main/threads/task-channel.ts';
import type { Admission } from '../../../src/main/wiring/create-admission.ts';
import { createPodStores, type PodStores } from '../../../src/main/wiring/create-pod-stores.ts';
import { createVolumeManager } from '../../../src/main/wiring/create-volume-manager.ts';
import { openPodStatuses, type PodStatuses } from '../../../src/main/wiring/open-pod-statuses.ts';
import { startPodObjects } from '../../../src/main/wiring/start-pod-objects.ts';
import { startPods, type StartedPods } from '../../../src/main/wiring/start-pods.ts';
import { Listeners } from '../../../src/shared/concurrency/listeners.ts';
import type { ContainerGcRequest } from '../../../src/shared/contracts/images.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { NodeInfo } from '../../../src/shared/contracts/node-info.ts';
import type { PodCgroupsAppeared } from '../../../src/shared/contracts/stats.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { kubeletOptions } from '../kubelet/kubelet-options.ts';
import type { FakeEnvironment } from './fake-environment.ts';

const resources = { milliCPU: 2000, memoryBytes: 4e9, ephemeralStorageBytes: 1e10, pods: 110 };
const facts: NodeInfo = {
  nodeName: 'node-1',
  hostname: 'node-1',
  hostIPs: ['192.0.2.1'],
  capacity: resources,
  allocatable: resources,
  runtimeName: 'containerd',
  runtimeVersion: '2.0.0',
  networkReady: true,
  networkNotReadyMessage: '',
  runtimeHandlers: [],
};
const options = kubeletOptions();

/** What a test decides about admissions. */
export interface FakeAdmission extends Partial<Admission> {
  readonly exclusiveAllocations?: Pick<ExclusiveAllocations, 'isNeededBy' | 'allocate' | 'restore'>;
}

export type FakeParts = PodStores & PodStatuses & StartedPods;

export async function startFakeParts(node: FakeEnvironment, { exclusiveAllocations, ...admission }: FakeAdmission): Promise<FakeParts> {
  const { cache, podLifecycle } = node;
  const { logger } = node.logs;
  const context = {
    clock: node.advancingClock,
    random: () => 0,
    options,
    nodeName: facts.nodeName,
    log: () => logger,
    shutdown: new Shutdown(logger),
    podLifecycle,
  };
  const sourcesReady = { allReady: () => node.sourcesReady, onReady: () => {} };
  const stores = createPodStores({ ...context, cache, sourcesReady });
  const nodeInfo = { current: () => facts };
  const statusManager: StatusUpdateSink = {
    set: (update) => node.sink?.set(update),
    expedite: (uid) => node.sink?.expedite(uid),
  };
  const probesThread = { setPods: async () => {}, removePods: async () => {}, starts: new Listeners() };
  const opened = await openPodStatuses({
    ...context,
    ...stores,
    cache,
    nodeInfo,
    probesThread,
    statusManager,
    unfinishedHooks: [],
    disk: emptyDisk,
  });
  const parts = {
    ...context,
    ...stores,
    ...opened,
    cache,
    nodeInfo,
    sourcesReady,
    threads: threadsOf(node),
    runtime: runtimeOf(node),
    nodeServices: { clusterNode: null, machine: { onChanged: () => () => {} }, node: () => null },
    cluster: null,
    providePullTokens: () => {},
    dispatcher: {
      requestSyncSlot: () => ({
        granted: node.slotGranted ?? Promise.resolve(),
        prioritize: () => void (node.prioritized += 1),
        release: () => {},
      }),
      acquireStartPermit: () => Promise.reject(new Error('the node has no permits')),
      tryAcquireStartPermit: () => null,
    },
    events: { record: (event: RecordedEvent) => void node.events.push(event) },
    sources: { take: () => [], markHandled: () => {}, hasApiSynced: () => true },
    syncLoop: { requestHousekeeping: () => {}, onDue: () => pods.workers.wake(pods.handlers.takeDue()) },
    exclusiveAllocations: exclusiveAllocations ?? new ExclusiveAllocations([], logger),
    podAdmission: {
      admitHandlers: [() => (node.rejection ? { rejection: node.rejection } : null)],
      missingFeaturesForUpdate: () => null,
      refreshNode: null,
      ...admission,
    },
    listPodDirectories: async () => node.podDirectories,
  };
  const unavailable = async () => ({ outcome: 'failed', message: 'the node has no such thread' }) as const;
  const volumes = createVolumeManager({
    ...context,
    objects: undefined,
    attachments: undefined,
    thread: { publishVolume: unavailable, publishLocalVolume: unavailable, checkHostPath: unavailable, unpublishVolume: unavailable },
    getToken: () => Promise.reject(new Error('the node has no tokens')),
    nodeLabels: () => ({}),
    events: parts.events,
    claimedVolumes: { put: () => {}, removePod: () => {} },
  });
  const pods: StartedPods = startPods({ ...parts, ...startPodObjects(parts), ...volumes });
  podLifecycle.register({
    name: 'test',
    containersEnded: (uid) => node.ended.push(uid),
    finished: (uid) => node.finished.push(uid),
    forgotten: (uid) => node.forgotten.push(uid),
  });
  return { ...stores, ...opened, ...pods };
}

function threadsOf(node: FakeEnvironment) {
  return {
    host: { cgroupVersion: 2 } as const,
    pool: {
      run: (task: PodTask, handlers: TaskHandlers) => {
        node.taskHandlers = handlers;
        return node.run(task);
      },
      listPodCgroups: async () => ({ podUIDs: node.podCgroups }),
    },
    pleg: { inspectPod: (uid: PodUID) => node.inspect(uid) },
    stats: { listeners: { podCgroups: new Listeners<[PodCgroupsAppeared]>() } },
  };
}

function runtimeOf(node: FakeEnvironment) {
  return {
    images: {
      ensureImage: async ({ image }: { readonly image: string }) => ({ outcome: 'present', imageRef: `sha256:${image}` }) as const,
      collectImages: async () => ({ removedImages: 0, freedBytes: 0, failure: null }),
      collectContainers: async (request: ContainerGcRequest) => {
        node.collected.push(request);
        if (node.gcError) throw node.gcError;
        return { removedContainers: node.removedContainers, removedSandboxes: 0 };
      },
      removeContainers: async () => {},
    },
    runtimeState: { info: null, errors: () => null, checkSoon: () => void (node.failures += 1), onRecovered: () => () => {} },
  };
}

/** No checkpoint is there, and each write succeeds. */
const emptyDisk = {
  read: async () => {
    throw Object.assign(new Error('ENOENT: no such file or directory'), { code: 'ENOENT' });
  },
  write: async () => {},
  sync: async () => {},
};
