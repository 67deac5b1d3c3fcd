/** At least one sample of every message of the contracts. A message without a sample does not compile. */
import type { LiveImagesSettings } from '../../../src/shared/contracts/images.ts';
import type { MessagePort } from 'node:worker_threads';
import type { PullTokenRequest } from '../../../src/shared/contracts/credential-providers.ts';
import type { EnsureImageRequest, NeededImages } from '../../../src/shared/contracts/images.ts';
import type { Commands, MessageName, Notifications, Requests } from '../../../src/shared/contracts/messages.ts';
import type { NodeInfo } from '../../../src/shared/contracts/node-info.ts';
import type { PodObjectRef, PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import type { ProbedPod } from '../../../src/shared/contracts/probes.ts';
import type { ContainerBackoff, PodSyncReport } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import { KubeletError, toFailure } from '../../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';

const podUID = 'uid-1' as PodUID;
const containerID = 'c1' as ContainerID;
const sandboxID = 's1' as SandboxID;
export const failure = toFailure(
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
const node: NodeInfo = {
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
const image: EnsureImageRequest = {
  podUID,
  podName: 'web',
  podNamespace: 'default',
  serviceAccountName: 'sa',
  containerName: 'app',
  image: 'busybox',
  imagePullPolicy: 'Always',
  runtimeHandler: '',
  podAnnotations: { a: 'b' },
  pullCredentials: {
    credentials: [{ login: { username: 'u', password: 'p', email: '' }, hash: 'h', secret: { namespace: 'd', name: 's', uid: 'u' } }],
    problem: null,
  },
  about: { kind: 'Pod', namespace: 'd', name: 'web', uid: podUID, fieldPath: 'spec' },
};
const pullTokenRequest: PullTokenRequest = {
  namespace: 'default',
  serviceAccountName: 'sa',
  podName: 'web',
  podUID,
  audience: 'registry',
  requiredAnnotations: ['a'],
  optionalAnnotations: [],
};
const neededImages: NeededImages = { listedAtMs: 1.5, names: ['busybox'], ids: ['sha256:1'] };
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
const podObjects: PodObjectResult[] = [
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

/** A port is transferred, not cloned. */
type WithoutPort<T> = T extends { readonly channel: MessagePort } ? Omit<T, 'channel'> : T;

interface RequestSample<Request, Reply> {
  readonly request: Request extends unknown ? WithoutPort<Request> : never;
  readonly reply: Reply;
}

type Sample<Name extends MessageName> = Name extends keyof Requests
  ? RequestSample<Requests[Name]['request'], Requests[Name]['reply']>
  : Name extends keyof Notifications
    ? Notifications[Name]
    : Name extends keyof Commands
      ? Commands[Name]
      : never;

type Samples = { readonly [Name in MessageName]: readonly [Sample<Name>, ...Sample<Name>[]] };

const probedPod: ProbedPod = {
  uid: podUID,
  namespace: 'n',
  name: 'p',
  terminating: false,
  containers: [
    {
      name: 'c',
      id: containerID,
      startedAtMs: 1,
      started: true,
      probes: [
        {
          probe: 'readiness',
          action: { type: 'http', scheme: 'http', host: '10.0.0.1', port: 80, path: '/', headers: [{ name: 'a', value: 'b' }] },
          initialDelaySeconds: 0,
          periodSeconds: 10,
          timeoutSeconds: 1,
          successThreshold: 1,
          failureThreshold: 3,
          lastResult: 'success',
        },
      ],
    },
  ],
};

const liveImages: LiveImagesSettings = {
  registryPullQPS: 5,
  registryBurst: 10,
  imageGc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
  logRotation: null,
};
const emptyCall: readonly [{ request: []; reply: undefined }] = [{ request: [], reply: undefined }];
const podResources = {
  name: 'web',
  namespace: 'ns',
  containers: [
    {
      name: 'app',
      devices: [{ resourceName: 'example.com/gpu', deviceIds: ['0'], topology: { nodes: [{ ID: 0n }] } }],
      cpuIds: [1n],
      memory: [],
      dynamicResources: [],
    },
  ],
  cpuIds: [],
  memory: [],
};
const volumeStatsSamples = [
  {
    request: [{ podUID, specName: 'pv1' }],
    reply: {
      outcome: 'measured',
      usage: { capacityBytes: 100, availableBytes: 60, usedBytes: 40, inodes: 10, inodesFree: 9, inodesUsed: 1 },
    },
  },
  { request: [{ podUID, specName: 'pv1' }], reply: { outcome: 'failed', message: 'rpc error' } },
] satisfies Samples['volumes.volumeStats'];
const address = { address: '127.0.0.1', port: 10255 };

export const samples: Samples = {
  'pleg.inspectPod': [
    { request: [podUID], reply: undefined },
    {
      request: [
        podUID,
        { sandbox: { id: sandboxID, podName: 'web', podNamespace: 'default' }, containers: [{ id: containerID, sandboxID, name: 'app' }] },
      ],
      reply: undefined,
    },
  ],
  'pleg.relist': emptyCall,
  'pleg.runtimeInfo': [
    {
      request: [],
      reply: {
        runtimeName: 'containerd',
        runtimeVersion: '1.7',
        runtimeApiVersion: 'v1',
        handlers: [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }],
        conditions: [{ type: 'NetworkReady', status: false, reason: 'r', message: 'm' }],
        cgroupDriver: null,
      },
    },
  ],
  'pleg.close': emptyCall,
  'pleg.events': [
    {
      relistedAtMs: 1.5,
      statuses: [status],
      removed: [podUID],
      events: [
        { type: 'ContainerStarted', podUID, containerID },
        { type: 'ContainerDied', podUID, containerID, exitCode: 137 },
        { type: 'ContainerRemoved', podUID, containerID },
        { type: 'ContainerChanged', podUID, containerID },
        { type: 'PodSync', podUID },
      ],
    },
    { statuses: [status], removed: [], events: [], unchanged: true },
  ],

  'images.ensureImage': [
    { request: [image], reply: { outcome: 'present', imageRef: 'sha256:1' } },
    { request: [image], reply: { outcome: 'failed', failure } },
  ],
  'images.listImages': [{ request: [], reply: [{ id: 'sha256:1', repoTags: ['r/i:1'], repoDigests: [], sizeBytes: 2 ** 40 }] }],
  'images.collectImages': [
    { request: [neededImages], reply: { removedImages: 1, freedBytes: 2 ** 40, failure: null } },
    { request: [neededImages], reply: { removedImages: 0, freedBytes: 0, failure } },
  ],
  'images.deleteUnusedImages': [{ request: [neededImages], reply: { removedImages: 1, freedBytes: 2 ** 40, failure: null } }],
  'images.planImageGc': [{ request: [neededImages], reply: '{"images":[]}' }],
  'images.collectContainers': [
    {
      request: [
        {
          requestedAtMs: 1_767_225_600_000,
          allSourcesReady: true,
          knownPodUIDs: [podUID],
          removablePodUIDs: [],
          minAgeMs: 0,
          maxPerPodContainer: 1,
          maxContainers: -1,
        },
      ],
      reply: { removedContainers: 1, removedSandboxes: 2 },
    },
  ],
  'images.removeContainers': [{ request: [[containerID]], reply: undefined }],
  'images.sampleFilesystems': emptyCall,
  'images.configure': [{ request: [liveImages], reply: undefined }],
  'images.close': emptyCall,
  'images.events': [
    event,
    { pullWait: { podUID, containerName: 'app', wait: 'PullQueue', atMs: 12.5 } },
    { pullWait: { podUID, containerName: 'app', wait: null, atMs: 12.5 } },
  ],
  'main.volumeStats': volumeStatsSamples,
  'main.pullToken': [
    {
      request: [pullTokenRequest],
      reply: { outcome: 'granted', serviceAccountUID: 'u', token: 't', annotations: { a: 'b' } },
    },
    { request: [pullTokenRequest], reply: { outcome: 'missing annotation', annotation: 'a' } },
    { request: [pullTokenRequest], reply: { outcome: 'failed', failure } },
  ],

  'stats.machineInfo': [
    {
      request: [],
      reply: {
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
    },
  ],
  'stats.sampleNow': emptyCall,
  'stats.setMemoryThresholds': [{ request: [[{ scope: 'node', available: { fraction: 0.1 } }]], reply: undefined }],
  'stats.runtimeMetrics': [
    { request: ['text'], reply: new Uint8Array([1]) },
    { request: ['nativeProtobuf'], reply: undefined },
  ],
  'stats.close': emptyCall,
  'stats.events': [
    { type: 'systemOOM', pid: 12, processName: 'stress' },
    { type: 'memoryPressure', source: 'stall' },
    { type: 'podCgroupsAppeared', podUIDs: [podUID] },
  ],

  'probes.setPods': [{ request: [[probedPod]], reply: undefined }],
  'probes.removePods': [{ request: [[podUID]], reply: undefined }],
  'probes.renderMetrics': [{ request: ['text'], reply: new Uint8Array([1]) }],
  'probes.close': emptyCall,
  'probes.results': [
    {
      results: [{ podUID, containerID, probe: 'liveness', result: 'unknown' }],
      events: [{ podUID, container: 'c', reason: 'Unhealthy', message: 'Liveness probe failed: ' }],
    },
  ],

  'health.address': [
    { request: [], reply: address },
    { request: [], reply: null },
  ],
  'health.resetMetrics': emptyCall,
  'health.close': emptyCall,

  'plugins.getInfo': [
    {
      request: ['/var/lib/kubelet/plugins_registry/test.csi.example-reg.sock'],
      reply: {
        outcome: 'info',
        info: {
          type: 'CSIPlugin',
          name: 'test.csi.example',
          endpoint: '/var/lib/kubelet/plugins/test/csi.sock',
          supportedVersions: ['1.0.0'],
        },
      },
    },
    { request: ['/gone.sock'], reply: { outcome: 'failed', message: 'rpc error: code = Unavailable desc = …' } },
  ],
  'plugins.notifyRegistrationStatus': [{ request: ['/reg.sock', { registered: false, error: 'no handler' }], reply: 'rpc error' }],
  'plugins.close': emptyCall,

  'volumes.recover': emptyCall,
  'volumes.setDriver': [
    {
      request: ['test.csi.example', '/var/lib/kubelet/plugins/test/csi.sock'],
      reply: { outcome: 'info', info: { nodeID: 'n1', maxVolumesPerNode: 7, topology: { 'topology.test/zone': 'a' } } },
    },
    { request: ['test.csi.example', '/gone.sock'], reply: { outcome: 'failed', message: 'rpc error' } },
  ],
  'volumes.driverInfo': [{ request: ['test.csi.example'], reply: { outcome: 'failed', message: 'rpc error' } }],
  'volumes.removeDriver': [{ request: ['test.csi.example'], reply: undefined }],
  'volumes.publishVolume': [
    {
      request: [
        {
          podUID,
          lifecycle: 'Persistent',
          specName: 'pv1',
          driver: 'test.csi.example',
          volumeHandle: 'v1',
          fsType: 'ext4',
          volumeAttributes: { share: 'a' },
          podAttributes: {},
          stageSecrets: { key: 'k' },
          publishSecrets: {},
          mountOptions: ['noatime'],
          accessModes: ['ReadWriteOnce'],
          readOnly: false,
          needsAttachment: true,
          publishContext: { device: 'sdb' },
          fsGroup: { fsGroup: 2000, onlyOnRootMismatch: true, appliesToFiles: true },
        },
      ],
      reply: { outcome: 'failed', message: 'MountVolume.SetUp failed for volume "pv1" : rpc error' },
    },
  ],
  'volumes.publishLocalVolume': [
    {
      request: [
        {
          podUID,
          specName: 'pv1',
          path: '/mnt/disk',
          fsType: 'ext4',
          mountOptions: ['noatime'],
          accessModes: ['ReadWriteOnce'],
          readOnly: false,
          fsGroup: { fsGroup: 2000, onlyOnRootMismatch: true },
        },
      ],
      reply: { outcome: 'done', warning: 'The requested fsGroup is 2000' },
    },
  ],
  'volumes.checkHostPath': [{ request: ['/mnt/data', 'Directory'], reply: { outcome: 'failed', message: 'hostPath type check failed' } }],
  'volumes.volumeStats': volumeStatsSamples,
  'volumes.volumeHealth': [
    {
      request: [{ podUID, specName: 'pv1', driver: 'test.csi.example', volumeHandle: 'v1' }],
      reply: { outcome: 'reported', conditions: [{ status: 'Degraded', reason: 'SlowPath', message: 'one of two paths' }] },
    },
  ],
  'volumes.storageHealth': [
    {
      request: ['test.csi.example'],
      reply: {
        outcome: 'reported',
        conditions: [{ status: 'StorageUnreachable', reason: 'NoRoute', accessMode: 'ReadWriteOnce', volumeMode: 'Filesystem' }],
      },
    },
    { request: ['test.csi.example'], reply: { outcome: 'failed', message: 'Unavailable' } },
  ],
  'volumes.unpublishVolume': [{ request: [{ podUID, plugin: 'kubernetes.io/csi', specName: 'pv1' }], reply: { outcome: 'done' } }],
  'volumes.close': emptyCall,
  'volumes.events': [
    { type: 'recovered', volumes: [{ driver: 'd', volumeHandle: 'v1', needsAttachment: true }], areRecordsLost: false },
    { type: 'added', volume: { driver: 'd', volumeHandle: 'v1', needsAttachment: true } },
    { type: 'removed', volume: { driver: 'd', volumeHandle: 'v1', needsAttachment: true } },
    { type: 'slowGroupChange', podUID, target: '/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pv1/mount', files: 1000 },
  ],

  'server.addresses': [{ request: [], reply: { readOnly: address, secure: null } }],
  'server.setServingCertificate': [{ request: [{ cert: 'c', key: 'k' }], reply: undefined }],
  'server.close': emptyCall,
  'main.podListUIDs': [{ request: ['runningPods'], reply: [podUID] }],
  'main.podListItems': [{ request: ['pods', [podUID]], reply: { taken: 1, json: new Uint8Array([123, 125]) } }],
  'main.allocatedPod': [
    { request: [{ namespace: 'ns', name: 'web' }], reply: '{"kind":"Pod"}' },
    { request: [{ namespace: 'ns', name: 'web', uid: 'u' }], reply: null },
  ],
  'main.imageGcPlan': [{ request: [], reply: '{"images":[]}' }],
  'main.evictionPlan': [
    { request: ['memory.available'], reply: '{"thresholds":[]}' },
    { request: [null], reply: '{"thresholds":[]}' },
  ],
  'main.configz': [{ request: [], reply: '{"kubeletconfig":{}}' }],
  'main.flagz': [{ request: [], reply: { 'node-ip': '' } }],
  'main.reviewToken': [{ request: ['t'], reply: { authenticated: true, user: { username: 'u', groups: ['g'], extra: { e: ['v'] } } } }],
  'main.reviewAccess': [
    {
      request: [{ user: 'u', resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'proxy', name: 'n' } }],
      reply: { allowed: false, reason: 'r' },
    },
  ],
  'main.resolveContainer': [
    {
      request: [{ purpose: 'logs', namespace: 'ns', pod: 'web', container: 'app', previous: true }],
      reply: { found: true, podUID, sandboxID: '', containerID, logPath: '/var/log/pods/x/app/0.log', tty: true },
    },
    {
      request: [{ purpose: 'portForward', namespace: 'ns', pod: 'web', podUID }],
      reply: { found: false, status: 404, message: 'pod does not exist' },
    },
  ],
  'main.probeMetrics': [{ request: ['text'], reply: new Uint8Array([1]) }],
  'main.runtimeMetrics': [
    { request: ['text'], reply: new Uint8Array([1]) },
    { request: ['nativeProtobuf'], reply: undefined },
  ],
  'main.podChanges': [
    {
      request: [null],
      reply: {
        cursor: 1,
        isStart: true,
        isComplete: true,
        sourcesReady: true,
        pods: [{ uid: podUID, namespace: 'ns', name: 'web', json: '{}', hasStatus: true, isFinished: false }],
        removed: [podUID],
      },
    },
  ],
  'main.listPodResources': [{ request: ['v1'], reply: [podResources] }],
  'main.getPodResources': [
    { request: ['ns', 'web'], reply: podResources },
    { request: ['ns', 'web'], reply: undefined },
  ],
  'main.allocatableResources': [{ request: [], reply: { devices: [], cpuIds: [1n], memory: [] } }],
  'main.resetHealthMetrics': emptyCall,

  'pool.podSyncTask': [
    {
      request: { kind: 'sync', podUID, node, pod, status, apiStatus: { phase: 'Running' }, backoffs },
      reply: { result: { outcome: 'synced', ...report }, notifications: [{ type: 'containersEnded' }] },
    },
    {
      request: {
        kind: 'sync',
        podUID,
        node,
        pod,
        status: null,
        apiStatus: {},
        backoffs: [],
        allocation: { userNamespace: { hostID: 65536, length: 65536 } },
      },
      reply: { result: { outcome: 'failed', failure, ...report }, notifications: [] },
    },
    {
      request: { kind: 'terminating', podUID, node, pod: null, status, gracePeriodSeconds: null },
      reply: { result: { outcome: 'stopped', waiting: {}, backoffs: [], changedRuntime: false }, notifications: [] },
    },
    {
      request: { kind: 'terminating', podUID, node, pod, status, gracePeriodSeconds: 30 },
      reply: { result: { outcome: 'synced', ...report }, notifications: [] },
    },
    {
      request: { kind: 'terminated', podUID, node, pod, status: null },
      reply: { result: { outcome: 'synced', ...report }, notifications: [] },
    },
    { request: { kind: 'cleanUp', podUID, node }, reply: { result: { outcome: 'synced', ...report }, notifications: [] } },
  ],
  'pool.syncCgroups': [
    {
      request: { cgroups: [{ cgroup: ['kubepods'], resources: { cpuShares: 2, unified: { 'memory.min': '0' } }, create: true }] },
      reply: { failures: [null] },
    },
    { request: { cgroups: [{ cgroup: '/system.slice', resources: {}, create: false }] }, reply: { failures: ['no such cgroup'] } },
  ],
  'pool.moveProcesses': [
    { request: { systemCgroup: '/system', kubeletCgroup: '', oomScoreAdj: -999 }, reply: { failures: ['failed to move PID 2'] } },
  ],
  'pool.runIPTables': [
    { request: { family: 'IPv4', args: ['-N', 'X', '-t', 'nat'] }, reply: { result: 'exited', code: 1, output: 'Chain already exists.' } },
    { request: { family: 'IPv6', args: ['--version'] }, reply: { result: 'not found' } },
  ],
  'pool.updateRuntimeConfig': [
    { request: { podCIDR: '10.0.0.0/24,fd00::/64' }, reply: { result: 'updated' } },
    { request: { podCIDR: '10.0.0.0/24' }, reply: { result: 'failed', message: 'UpdateRuntimeConfig: unavailable' } },
  ],
  'pool.listPodCgroups': [{ request: undefined, reply: { podUIDs: ['uid-1'] } }],
  'pool.decodeManifest': [
    {
      request: { source: 'file', origin: '/a.yaml', nodeName: 'n', content: new Uint8Array([0, 255, 10]) },
      reply: { pods: [pod], errors: ['spec.containers[0].name: Required value'], readable: true },
    },
  ],
  'pool.prepare': [{ request: undefined, reply: undefined }],
  'pool.slotClaimed': [{ claimedSlot: 1, atMs: 1.5 }],

  'task.ensureImage': [
    {
      request: { type: 'ensureImage', id: 1, image },
      reply: { type: 'ensureImage', id: 1, result: { outcome: 'present', imageRef: 'sha256:1' } },
    },
    { request: { type: 'ensureImage', id: 1, image }, reply: { type: 'ensureImage', id: 1, result: { outcome: 'failed', failure } } },
  ],
  'task.startPermit': [{ request: { type: 'startPermit', id: 2, kind: 'sandbox' }, reply: { type: 'startPermit', id: 2 } }],
  'task.podObjects': [
    { request: { type: 'podObjects', id: 3, refs, maxBytes: 9000 }, reply: { type: 'podObjects', id: 3, results: podObjects, bytes: 800 } },
  ],
  'task.publishVolume': [
    {
      request: { type: 'publishVolume', id: 6, volume: 'data' },
      reply: {
        type: 'publishVolume',
        id: 6,
        result: { outcome: 'published', volume: { place: { plugin: 'kubernetes.io/csi', specName: 'pv1' }, readOnly: false } },
      },
    },
  ],
  'task.unpublishVolume': [
    {
      request: { type: 'unpublishVolume', id: 7, folder: { plugin: 'kubernetes.io/csi', specName: 'pv1' } },
      reply: { type: 'unpublishVolume', id: 7, result: { outcome: 'waiting', message: 'volume "pv1" is being unmounted since 2s' } },
    },
  ],
  'task.beginRestart': [
    { request: { type: 'beginRestart', id: 4, containers: [containerID] }, reply: { type: 'beginRestart', id: 4, allowed: false } },
  ],
  'task.recordActuated': [
    {
      request: { type: 'recordActuated', id: 5, actuated: { containers: new Map([['app', { limits: { cpu: '1' } }]]) } },
      reply: { type: 'recordActuated', id: 5 },
    },
  ],
  'task.transferPermit': [{ type: 'transferPermit', id: 2 }],
  'task.releasePermit': [{ type: 'releasePermit', id: 2, succeeded: false }],
  'task.volumesMounted': [{ type: 'volumesMounted', volumes: ['data'] }],
  'task.containersEnded': [{ type: 'containersEnded' }],
  'task.actuated': [
    { type: 'actuated', actuated: { containers: new Map([['app', { requests: { cpu: '1' } }]]), podLevel: { limits: { memory: '1Gi' } } } },
  ],
  'task.postStartHook': [{ type: 'postStartHook', container: 'c1' as ContainerID, unfinished: true }],
  'task.containerWaiting': [
    { type: 'containerWaiting', container: 'app', waiting: { reason: 'CreateContainerConfigError', message: 'm' } },
  ],
  'task.event': [{ type: 'event', event }],
  'task.phase': [
    { type: 'phase', report: { edge: 'begin', phase: 'Stop', container: 'app', atMs: 12.5, dueMs: 30_012.5 } },
    { type: 'phase', report: { edge: 'wait', phase: 'Stop', container: 'app', atMs: 12.5, wait: 'OtherContainers' } },
    { type: 'phase', report: { edge: 'failed', phase: 'Sandbox', atMs: 12.5 } },
  ],
  'task.stop': [{ type: 'stop' }, { type: 'stop', podEnds: true }],
  'task.shrinkGracePeriod': [{ type: 'shrinkGracePeriod', gracePeriodSeconds: 0 }],

  'helper.checkHostPath': [{ request: { path: '/p', type: 'Directory' }, reply: { failure: 'hostPath type check failed' } }],
  'helper.mountFilesystem': [{ request: { target: '/t', fsType: 'tmpfs', source: 'tmpfs', options: 'size=1' }, reply: null }],
  'helper.unmount': [{ request: { target: '/t', force: true }, reply: null }],
  'helper.bindSubpath': [{ request: { volumePath: '/v', subPath: 's', target: '/t', create: true }, reply: null }],
  'helper.removeTree': [{ request: { path: '/p' }, reply: { removed: false } }],
  'helper.changeOwnership': [
    {
      request: { path: '/p', fsGroup: 1000, readOnly: false, onlyOnRootMismatch: true },
      reply: { failures: 1, firstFailure: 'EPERM', unreadable: null },
    },
  ],
  'helper.readFile': [{ request: { volumePath: '/v', path: 'p', maxBytes: 10 }, reply: { content: 'ünïcode' } }],
  'helper.statfs': [
    { request: { path: '/p' }, reply: { capacityBytes: 2 ** 50, availableBytes: 1, usedBytes: 2, inodes: 2, inodesFree: 1 } },
  ],
  'helper.inspectVolumeSource': [{ request: { path: '/p' }, reply: { path: '/q', type: 'block', group: 0, device: '7:0' } }],
  'helper.measureTrees': [
    {
      request: { trees: [{ id: 'a', path: '/p', keep: true }], forget: ['b'], treeCpuMs: 5, totalCpuMs: 20 },
      reply: {
        cpuMs: 70.5,
        trees: [
          { id: 'a', outcome: 'begun', bytes: 2 ** 50, inodes: 3, isIncomplete: false, cpuMs: 5.1 },
          { id: 'c', outcome: 'failed', bytes: 0, inodes: 0, isIncomplete: true, cpuMs: 0, message: 'ENOENT: …', code: 'ENOENT' },
        ],
      },
    },
  ],
};
