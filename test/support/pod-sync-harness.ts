/**
 * A thread of the sync pool without the thread: tasks run on a fake runtime and a fake clock, their line answered by a main that grants
 * all. Folders are real, below a temporary one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnsureImageResult } from '../../src/shared/contracts/images.ts';
import type { NodeInfo } from '../../src/shared/contracts/node-info.ts';
import type { MessageToTask, MessageToMain } from '../../src/shared/contracts/pod-sync/channel.ts';
import type { ContainerBackoff, PodSyncResult } from '../../src/shared/contracts/pod-sync/result.ts';
import type { PodSyncTask, RuntimeHandlerChoice } from '../../src/shared/contracts/pod-sync/task.ts';
import type { PodSyncSettings } from '../../src/shared/contracts/pod-sync/worker-data.ts';
import type { PodObjectResult } from '../../src/shared/contracts/pod-objects.ts';
import type { Pod, PodStatus } from '../../src/shared/kubernetes/api.ts';
import { podUID } from '../../src/shared/kubernetes/ids.ts';
import type { PodSyncDependencies } from '../../src/workers/pod-sync/dependencies.ts';
import type { ChannelPort } from '../../src/workers/pod-sync/task-channel-client.ts';
import { runTask } from '../../src/workers/pod-sync/run-task.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeRuntime } from './fake-runtime.ts';
import { aLogger } from './logger.ts';
import { someSettings } from './runtime-config-inputs.ts';

/** Main's end of one task's line. */
export class FakeTaskChannel implements ChannelPort {
  readonly requests: MessageToMain[] = [];
  /** The same by message, each as the types in it; the last came with the result. */
  readonly messages: string[] = [];
  /** Answers to `ensureImage`, by image; present unless said otherwise. */
  readonly images: ReadonlyMap<string, EnsureImageResult>;
  /** What the API server has, by kind and name; without any the kubelet runs standalone. */
  readonly podObjects: ReadonlyMap<string, PodObjectResult>;
  /** While true, permits are not granted. */
  readonly withholdsPermits: boolean;
  /** Whether a task may stop containers to start them again. */
  allowsRestarts = true;
  #hear: (reply: MessageToTask) => void = () => {};
  #onClose: () => void = () => {};
  readonly #waiting = new Map<MessageToMain['type'], PromiseWithResolvers<void>>();

  constructor(
    images: ReadonlyMap<string, EnsureImageResult>,
    holdPermits: boolean,
    values: ReadonlyMap<string, PodObjectResult> = new Map(),
  ) {
    this.images = images;
    this.podObjects = values;
    this.withholdsPermits = holdPermits;
  }

  on(event: 'message' | 'close', listener: ((reply: MessageToTask) => void) & (() => void)): void {
    if (event === 'message') this.#hear = listener;
    else this.#onClose = listener;
  }

  postMessage(requests: readonly MessageToMain[]): void {
    this.messages.push(requests.map(({ type }) => type).join());
    for (const request of requests) this.#answer(request);
  }

  #answer(request: MessageToMain): void {
    this.requests.push(request);
    this.#waiting.get(request.type)?.resolve();
    if (request.type === 'startPermit' && !this.withholdsPermits) queueMicrotask(() => this.#hear({ type: 'startPermit', id: request.id }));
    if (request.type === 'podObjects') {
      const noClient: PodObjectResult = { outcome: 'failed', failure: { reason: 'NoClient', message: 'no client' } };
      const results = request.refs.map((ref) => this.podObjects.get(`${ref.kind} ${'name' in ref ? ref.name : ''}`.trim()) ?? noClient);
      queueMicrotask(() => this.#hear({ type: 'podObjects', id: request.id, results }));
    }
    if (request.type === 'beginRestart')
      queueMicrotask(() => this.#hear({ type: 'beginRestart', id: request.id, allowed: this.allowsRestarts }));
    if (request.type === 'ensureImage') {
      const present: EnsureImageResult = { outcome: 'present', imageRef: `sha256:${request.image.image}` };
      const result = this.images.get(request.image.image) ?? present;
      queueMicrotask(() => this.#hear({ type: 'ensureImage', id: request.id, result }));
    }
  }

  /** Resolves when a request of this type has been made. */
  requested(type: MessageToMain['type']): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(type, waiting);
    if (this.requests.some((request) => request.type === type)) waiting.resolve();
    return waiting.promise;
  }

  post(reply: MessageToTask): void {
    this.#hear(reply);
  }

  close(): void {
    this.#onClose();
  }

  /** `Started spec.containers{app}: Container started` */
  get events(): string[] {
    return this.requests.flatMap((request) =>
      request.type === 'event' ? [`${request.event.reason} ${request.event.object.fieldPath ?? 'pod'}: ${request.event.message}`] : [],
    );
  }
}

const resources = { milliCPU: 2000, memoryBytes: 4e9, ephemeralStorageBytes: 1e10, pods: 110 };

export interface Run {
  readonly channel: FakeTaskChannel;
  readonly result: Promise<PodSyncResult>;
}

export class PodSyncHarness {
  readonly clock = new FakeClock();
  readonly runtime = new FakeRuntime(this.clock);
  readonly logs = aLogger();
  readonly folder = mkdtempSync(join(tmpdir(), 'pod-sync-'));
  readonly images = new Map<string, EnsureImageResult>();
  /** `Secret db`, `Services`: what main answers. */
  readonly podObjects = new Map<string, PodObjectResult>();
  /** What was done to volumes and cgroups, in order. */
  readonly effects: string[] = [];
  readonly failures = new Map<string, Error>();
  readonly hookURLs: string[] = [];
  /** Why a volume cannot be brought up to date, while that is so. */
  outdatedVolumeMessage: string | null = null;
  /** What main knows of the pod's volumes. */
  volumesMounted = true;
  /** A volume that nobody can unmount, nor wait for. */
  unmountHangs = false;
  hasCgroup = false;
  withholdsPermits = false;
  networkReady = true;
  /** What main found the pod's RuntimeClass to stand for. */
  runtimeHandler: RuntimeHandlerChoice | null = null;
  backoffs: readonly ContainerBackoff[] = [];

  readonly settings: PodSyncSettings = {
    ...someSettings,
    runtimeEndpoint: '',
    imageEndpoint: '',
    rootDir: join(this.folder, 'kubelet'),
    podLogsDir: join(this.folder, 'pods'),
    containerLogsDir: join(this.folder, 'containers'),
    seccompProfileRoot: join(this.folder, 'seccomp'),
    cgroupVersion: 2,
    cgroupFsRoot: join(this.folder, 'cgroup'),
    resolvConf: '',
    singleProcessOOMKill: false,
  };

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  get node(): NodeInfo {
    return {
      nodeName: 'node-1',
      hostname: 'node-1',
      hostIPs: ['192.0.2.1'],
      capacity: resources,
      allocatable: resources,
      runtimeName: 'fake',
      runtimeVersion: '1.0.0',
      networkReady: this.networkReady,
      networkNotReadyMessage: 'cni plugin not initialized',
      runtimeHandlers: [],
    };
  }

  /** Syncs with what the runtime has now, unless a status is given. */
  sync(
    pod: Pod,
    more: {
      readonly status?: null;
      readonly withoutContainers?: boolean;
      readonly apiStatus?: PodStatus;
      readonly dependenciesReady?: boolean;
      readonly hasSandboxPermit?: boolean;
    } = {},
  ): Run {
    const seen = more.status === null ? null : this.runtime.status(podUID(pod));
    const status = seen && more.withoutContainers ? { ...seen, containers: [] } : seen;
    const handler = this.runtimeHandler && { runtimeHandler: this.runtimeHandler };
    return this.#run(
      {
        kind: 'sync',
        pod,
        status,
        apiStatus: more.apiStatus ?? {},
        backoffs: this.backoffs,
        dependenciesReady: more.dependenciesReady ?? false,
        hasSandboxPermit: more.hasSandboxPermit ?? false,
        volumesMounted: this.volumesMounted,
        ...handler,
      },
      podUID(pod),
    );
  }

  /** The same, until it is over; back-offs are kept for the next. */
  async synced(
    pod: Pod,
    more: {
      readonly status?: null;
      readonly withoutContainers?: boolean;
      readonly apiStatus?: PodStatus;
      readonly dependenciesReady?: boolean;
      readonly hasSandboxPermit?: boolean;
    } = {},
  ): Promise<{ channel: FakeTaskChannel; result: PodSyncResult }> {
    const { channel, result } = this.sync(pod, more);
    const settled = await result;
    const changed = new Set(settled.backoffs.map(({ key }) => key));
    this.backoffs = [...this.backoffs.filter(({ key }) => !changed.has(key)), ...settled.backoffs];
    return { channel, result: settled };
  }

  terminate(pod: Pod, gracePeriodSeconds: number | null = null): Run {
    const status = this.runtime.status(podUID(pod))!;
    return this.#run({ kind: 'terminating', pod, status, gracePeriodSeconds }, podUID(pod));
  }

  run(task: TaskWithoutLine, uid: string): Run {
    return this.#run(task, uid);
  }

  #run(task: TaskWithoutLine, uid: string): Run {
    const channel = new FakeTaskChannel(this.images, this.withholdsPermits, this.podObjects);
    const whole = { ...task, podUID: uid, node: this.node, channel: null } as unknown as PodSyncTask;
    const answer = runTask(this.#dependencies(), whole, channel);
    return { channel, result: answer.then(({ result, notifications: told }) => (channel.postMessage(told), result)) };
  }

  #dependencies(): PodSyncDependencies {
    const effect = (name: string) => {
      const failure = this.failures.get(name);
      if (failure) return Promise.reject(failure);
      this.effects.push(name);
      return Promise.resolve();
    };
    return {
      settings: this.settings,
      runtime: this.runtime,
      cgroups: {
        cgroupParent: (pod) => `/kubepods/pod${pod.metadata.uid}`,
        exists: () => Promise.resolve(this.hasCgroup),
        ensureExists: async () => {
          await effect('make cgroup');
          this.hasCgroup = true;
        },
        create: async () => {
          await effect('make cgroup');
          this.hasCgroup = true;
        },
        remove: () => effect('remove cgroup'),
      },
      volumes: {
        mountVolumes: () =>
          effect('mount volumes').then(
            () => (this.outdatedVolumeMessage === null ? [] : [{ volume: 'data', message: this.outdatedVolumeMessage, state: 'outdated' }]),
            (err: Error) => [{ volume: 'data', message: err.message, state: 'missing' }],
          ),
        makeContainerMounts: ({ container }) => effect(`make mounts of ${container.name}`).then(() => []),
        writeHostsFile: (_pod, podIPs) => effect(`write hosts ${podIPs.join()}`),
        readEnvFiles: () => Promise.resolve(new Map()),
        unmountVolumes: (_uid, signal) => (this.unmountHangs ? rejectWhenAborted(signal) : effect('unmount volumes')),
        removePodDirectory: () => effect('remove folder'),
      },
      hostInfo: {
        read: () =>
          Promise.resolve({
            resolvConf: null,
            hugePageSizes: [],
            swapControllerAvailable: false,
            swapCapacityBytes: 0,
            thermalThrottlePaths: [],
            kernelVersion: '6.1.0',
            selinuxEnabled: false,
          }),
      },
      httpGet: ({ url }) => {
        this.hookURLs.push(url.href);
        return effect('http get');
      },
      clock: this.clock,
      logger: this.logs.logger,
    };
  }
}

type TaskWithoutLine = PodSyncTask extends infer T ? (T extends unknown ? Omit<T, 'channel' | 'podUID' | 'node'> : never) : never;

function rejectWhenAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}
