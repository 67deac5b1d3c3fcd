/** A sample of every message of the contracts, through a real thread: what does not survive the structured clone shows here. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EventChannel } from '../../../src/main/threads/event-channel.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import { Thread } from '../../../src/main/threads/thread.ts';
import type * as images from '../../../src/shared/contracts/images.ts';
import type { NodeFacts } from '../../../src/shared/contracts/node-facts.ts';
import type * as pleg from '../../../src/shared/contracts/pleg.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { MessageToMain, MessageToTask } from '../../../src/shared/contracts/pod-sync/channel.ts';
import type { DecodeManifestResult, DecodeManifestTask } from '../../../src/shared/contracts/pod-sync/decode-manifest.ts';
import type { ContainerBackoff, PodSyncReport, PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { PodSyncTask } from '../../../src/shared/contracts/pod-sync/task.ts';
import type { ProbeResult } from '../../../src/shared/contracts/probes.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { ContainerQuery, ResolvedContainer, ServerApi } from '../../../src/shared/contracts/server/calls.ts';
import type { MachineInfo } from '../../../src/shared/contracts/stats.ts';
import type { PodObjectRef, PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import { KubeletError, toFailure } from '../../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import { aLogger } from '../../support/logger.ts';
import type { EchoApi, EchoBirth } from './echo-thread.ts';

const podUID = 'uid-1' as PodUID;
const containerID = 'c1' as ContainerID;
const sandboxID = 's1' as SandboxID;
const failure = toFailure(
  new KubeletError('ErrImagePull', 'pull busybox', { cause: new Error('no such host'), retryAfterMs: 10_000 }),
  'Other',
);

const status: RuntimePodStatus = {
  podUID,
  name: 'web',
  namespace: 'default',
  podIPs: ['10.0.0.1', 'fd00::1'],
  sandboxes: [
    { id: sandboxID, state: 'ready', attempt: 1, createdAtMs: 1.5, podIPs: ['10.0.0.1'], hostNetwork: false, runtimeHandler: '' },
  ],
  containers: [
    {
      id: containerID,
      sandboxID,
      name: 'app',
      state: 'exited',
      createdAtMs: 1,
      startedAtMs: 2,
      finishedAtMs: 3,
      exitCode: 137,
      image: 'busybox',
      imageID: 'sha256:1',
      imageRef: 'busybox@sha256:1',
      hash: 'cafe',
      restartCount: 2,
      reason: 'OOMKilled',
      message: 'ünïcode\n',
      logPath: '/var/log/pods/x/app/2.log',
      user: { uid: 1000, gid: 1000, supplementalGroups: [1] },
      resources: { cpuShares: 2, cpuQuota: -1, cpuPeriod: 100_000, memoryLimitBytes: 0 },
      mounts: [{ containerPath: '/a', hostPath: '/b', readonly: true, recursiveReadOnly: false }],
      orphan: { podTerminationGracePeriodSeconds: 30, podDeletionGracePeriodSeconds: 5, preStopHandler: '{}', ports: '[]' },
      stopSignal: 'SIGTERM',
    },
  ],
  observedAtMs: 123.25,
  failure,
};
const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: podUID, creationTimestamp: '2026-01-01T00:00:00Z', annotations: { a: 'b' } },
  spec: { containers: [{ name: 'app', image: 'busybox', resources: { limits: { cpu: '100m' } }, ports: [{ containerPort: 80 }] }] },
};
const node: NodeFacts = {
  nodeName: 'n',
  hostname: 'n',
  hostIPs: ['192.0.2.1'],
  capacity: { milliCPU: 2000, memoryBytes: 2 ** 40, ephemeralStorageBytes: 1, pods: 110 },
  allocatable: { milliCPU: 2000, memoryBytes: 2 ** 40, ephemeralStorageBytes: 1, pods: 110 },
  runtimeName: 'containerd',
  runtimeVersion: '1.7',
  networkReady: true,
  networkNotReadyMessage: '',
  runtimeHandlers: [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }],
};
const request: images.EnsureImageRequest = {
  podUID,
  podName: 'web',
  podNamespace: 'default',
  containerName: 'app',
  image: 'busybox',
  imagePullPolicy: 'Always',
  runtimeHandler: '',
  podAnnotations: { a: 'b' },
  pullSecrets: [{ namespace: 'd', name: 's', uid: 'u', type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'e30=' } }],
  about: { kind: 'Pod', namespace: 'd', name: 'web', uid: podUID, fieldPath: 'spec' },
};
const refs: PodObjectRef[] = [
  { kind: 'Secret', namespace: 'd', name: 's' },
  {
    kind: 'Token',
    namespace: 'd',
    serviceAccountName: 'sa',
    podName: 'web',
    podUID,
    audience: '',
    expirationSeconds: 3607,
  },
  { kind: 'SignerTrustBundles', signerName: 'e.x/y', labelSelector: { matchLabels: { a: 'b' } }, optional: true },
  { kind: 'PodCertificate', volume: 'v', sourceIndex: 1 },
  { kind: 'Services', namespace: 'd', links: true },
];
const values: PodObjectResult[] = [
  { outcome: 'value', value: { kind: 'Secret', uid: 'u', type: 'Opaque', data: { k: 'AA==' } } },
  { outcome: 'value', value: { kind: 'ConfigMap', data: { k: 'v' }, binaryData: {} } },
  { outcome: 'value', value: { kind: 'Token', token: 't' } },
  { outcome: 'value', value: { kind: 'Credentials', keyPEM: 'k', chainPEM: 'c' } },
  { outcome: 'failed', failure },
];
const event = {
  object: { kind: 'Pod', namespace: 'd', name: 'web', uid: podUID, fieldPath: 'spec' },
  type: 'Warning',
  reason: 'Failed',
  message: 'm',
} as const;
const backoffs: ContainerBackoff[] = [{ key: 'app_cafe', backoffMs: 20_000, lastUpdateMs: 5 }];
const report: PodSyncReport = {
  waiting: { app: { reason: 'CrashLoopBackOff', message: 'm' } },
  backoffs,
  retryAtMs: 7,
  changedRuntime: true,
};
type WithoutLine<T> = T extends unknown ? Omit<T, 'channel'> : never;

const samples: Record<string, readonly unknown[]> = {
  PlegMessage: [
    {
      relistedAtMs: 1.5,
      statuses: [status],
      gone: [podUID],
      events: [
        { type: 'ContainerStarted', podUID, containerID },
        { type: 'ContainerDied', podUID, containerID, exitCode: 137 },
        { type: 'ContainerRemoved', podUID, containerID },
        { type: 'ContainerChanged', podUID, containerID },
        { type: 'PodSync', podUID },
      ],
    },
    { statuses: [], gone: [], events: [] },
  ] satisfies pleg.PlegNotification[],
  RuntimeFacts: [
    {
      runtimeName: 'containerd',
      runtimeVersion: '1.7',
      runtimeApiVersion: 'v1',
      handlers: [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }],
      conditions: [{ type: 'NetworkReady', status: false, reason: 'r', message: 'm' }],
      cgroupDriver: null,
    },
  ] satisfies pleg.RuntimeFacts[],
  PodSyncTask: [
    { kind: 'sync', podUID, node, pod, status, apiStatus: { phase: 'Running' }, backoffs },
    { kind: 'sync', podUID, node, pod, status: null, apiStatus: {}, backoffs: [] },
    { kind: 'terminating', podUID, node, pod: null, status, gracePeriodSeconds: null },
    { kind: 'terminating', podUID, node, pod, status, gracePeriodSeconds: 30 },
    { kind: 'terminated', podUID, node, pod, status: null },
    { kind: 'cleanUp', podUID, node },
  ] satisfies WithoutLine<PodSyncTask>[],
  PodSyncResult: [
    { outcome: 'synced', ...report },
    { outcome: 'failed', failure, ...report },
    { outcome: 'stopped', waiting: {}, backoffs: [], changedRuntime: false },
  ] satisfies PodSyncResult[],
  PodSyncRequest: [
    { type: 'ensureImage', id: 1, image: request },
    { type: 'startPermit', id: 2, kind: 'sandbox' },
    { type: 'releasePermit', id: 2, succeeded: false },
    { type: 'event', event },
    { type: 'volumesMounted', volumes: ['data'] },
    { type: 'podObjects', id: 3, refs },
  ] satisfies MessageToMain[],
  MessageToTask: [
    {
      type: 'ensureImage',
      id: 1,
      result: { outcome: 'present', imageRef: 'sha256:1' },
    },
    { type: 'ensureImage', id: 1, result: { outcome: 'failed', failure } },
    { type: 'startPermit', id: 2 },
    { type: 'podObjects', id: 3, results: values },
    { type: 'stop' },
    { type: 'shrinkGracePeriod', gracePeriodSeconds: 0 },
  ] satisfies MessageToTask[],
  DecodeManifestTask: [
    { source: 'file', origin: '/a.yaml', nodeName: 'n', content: new Uint8Array([0, 255, 10]) },
  ] satisfies DecodeManifestTask[],
  DecodeManifestResult: [
    { pods: [pod], errors: ['spec.containers[0].name: Required value'], readable: true },
  ] satisfies DecodeManifestResult[],
  ImagesApi: [
    request,
    {
      requestedAtMs: 1_767_225_600_000,
      allSourcesReady: true,
      knownPodUIDs: [podUID],
      removablePodUIDs: [],
      minAgeMs: 0,
      maxPerPodContainer: 1,
      maxContainers: -1,
    } satisfies images.ContainerGcRequest,
    [containerID],
    { removedContainers: 1, removedSandboxes: 2 },
    [{ id: 'sha256:1', repoTags: ['r/i:1'], repoDigests: [], sizeBytes: 2 ** 40 }] satisfies readonly images.ImageFacts[],
  ],
  ImageEvent: [event] satisfies RecordedEvent[],
  ProbeResult: [[{ podUID, containerID, probe: 'liveness', result: 'unknown' }] satisfies ProbeResult[]],
  ServerApi: [{ readOnly: { address: '127.0.0.1', port: 10255 }, secure: null }] satisfies Awaited<ReturnType<ServerApi['addresses']>>[],
  ContainerQuery: [
    { purpose: 'logs', namespace: 'ns', pod: 'web', container: 'app', previous: true },
    { purpose: 'portForward', namespace: 'ns', pod: 'web', podUID },
  ] satisfies ContainerQuery[],
  ResolvedContainer: [
    { found: true, podUID, sandboxID: '', containerID, logPath: '/var/log/pods/x/app/0.log', tty: true },
    { found: false, status: 404, message: 'pod does not exist' },
  ] satisfies ResolvedContainer[],
  MachineInfo: [
    {
      numCores: 2,
      memoryBytes: 2 ** 40,
      swapBytes: 0,
      hugePages: [{ pageSizeKiB: 2048, pages: 1 }],
      rootFsCapacityBytes: 1,
      rootFsInodes: 1,
      machineID: 'm',
      systemUUID: 's',
      bootID: 'b',
      kernelVersion: 'k',
      osImage: 'o',
    },
  ] satisfies MachineInfo[],
};

const { logger } = aLogger();
const state = new SharedThreadState({ logging: { format: 'text', verbosity: 0, vmodule: [] }, podSyncThreads: 1, syncFrequencyMs: 60_000 });
const channel = new EventChannel(() => {}, logger);
const common = state.workerData('probes');
let thread: Thread<EchoApi> | undefined;
function echoThread(): Thread<EchoApi> {
  thread ??= new Thread<EchoApi>({
    name: 'echo',
    entry: new URL('echo-thread.ts', import.meta.url),
    onStart: () => {
      const events = channel.open();
      return { workerData: { ...common, generation: 1, events } satisfies EchoBirth, transferList: [events] };
    },
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    threadStatuses: state.threadStatuses,
    heartbeatRow: common.heartbeatRow,
    logger,
  });
  return thread;
}
after(async () => {
  await thread?.close();
  channel.close();
});

for (const [name, messages] of Object.entries(samples)) {
  test(`${name} crosses to a thread and back unchanged`, async () => {
    for (const message of messages) {
      assert.deepEqual(await echoThread().call(async (api): Promise<unknown> => await api.echo(message)), message);
    }
  });
}

test('a failure that crosses keeps its reason, its causes’ messages and its time', () => {
  assert.deepEqual(failure, { reason: 'ErrImagePull', message: 'pull busybox: no such host', retryAfterMs: 10_000 });
});
