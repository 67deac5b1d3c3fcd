/**
 * Runs pod sync tasks in the test's thread, with a fake runtime, a fake clock and a fake task channel. Fakes of volumes and cgroups record
 * their calls. The pod's folders are real, below a temporary folder.
 */
import { LargeWorkLimiter } from '../../../src/workers/pod-sync/pod/large-work.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnsureImageResult } from '../../../src/shared/contracts/images.ts';
import type { NodeInfo } from '../../../src/shared/contracts/node-info.ts';
import type { ContainerBackoff, PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { ActuatedResources, PodCgroupDifference, UserNamespaceChoice } from '../../../src/shared/contracts/pod-sync/allocation.ts';
import { memoryLimitsOf } from '../../../src/shared/kubernetes/memory-volumes.ts';
import type { PodCgroupValues } from '../../../src/workers/pod-sync/cgroups/index.ts';
import type { PodSyncTask, RuntimeHandlerChoice } from '../../../src/shared/contracts/pod-sync/task.ts';
import type { PodSyncSettings } from '../../../src/shared/contracts/pod-sync/worker-data.ts';
import type { PodObjectResult } from '../../../src/shared/contracts/pod-objects.ts';
import type { Pod, PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { podUID, type ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { PodSyncDependencies } from '../../../src/workers/pod-sync/pod/dependencies.ts';
import { runTask } from '../../../src/workers/pod-sync/pod/run-task.ts';
import type { VolumeFailure } from '../../../src/workers/pod-sync/pod/volumes/index.ts';
import { FakeClock } from '../fake-clock.ts';
import { FakeRuntime } from '../runtime/fake-runtime.ts';
import { FakeTaskChannel } from './fake-task-channel.ts';
import { aLogger } from '../logger.ts';
import { someSettings } from './runtime-config-inputs.ts';

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
  readonly largeWork = new LargeWorkLimiter();
  readonly images = new Map<string, EnsureImageResult>();
  /** Main's results by kind and name, such as `Secret db` or `Services`. */
  readonly podObjects = new Map<string, PodObjectResult>();
  /** The successful calls to volumes, cgroups and hooks, in order. */
  readonly effects: string[] = [];
  /** Errors by the name of the call that fails. */
  readonly failures = new Map<string, Error>();
  readonly hookURLs: string[] = [];
  /** The failure of an outdated volume, if any. */
  outdatedVolumeMessage: string | null = null;
  /** The volume that is not mounted, instead. */
  volumeFailure: VolumeFailure | null = null;
  /** Whether main knows that all volumes are mounted. */
  volumesMounted = true;
  /** Main's list of the containers whose postStart hook has not ended. */
  unfinishedHooks: readonly ContainerID[] = [];
  /** Makes unmountVolumes hang until its signal aborts. */
  unmountHangs = false;
  hasCgroup = false;
  withholdsPermits = false;
  networkReady = true;
  /** The handler of the pod's RuntimeClass. */
  runtimeHandler: RuntimeHandlerChoice | null = null;
  userNamespace: UserNamespaceChoice | null = null;
  backoffs: readonly ContainerBackoff[] = [];
  actuated: ActuatedResources | null = null;
  readEnvFiles: PodSyncDependencies['volumes']['readEnvFiles'] = () => Promise.resolve(new Map());
  /** Of the pod's cgroup. */
  cgroupValues: PodCgroupValues | null = null;
  cgroupDifference: PodCgroupDifference | null = null;
  /** Bytes. */
  memoryUsage: number | undefined = 0;

  readonly settings: PodSyncSettings;

  constructor(settings: Partial<PodSyncSettings> = {}) {
    this.settings = { ...this.#defaultSettings(), ...settings };
  }

  #defaultSettings(): PodSyncSettings {
    return {
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
  }

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

  /** Starts a sync with the runtime's current status, unless `options` has one. */
  startSync(
    pod: Pod,
    options: {
      readonly status?: null;
      readonly withoutContainers?: boolean;
      readonly apiStatus?: PodStatus;
      readonly dependenciesReady?: boolean;
      readonly isRetry?: boolean;
      readonly hasSandboxPermit?: boolean;
    } = {},
  ): Run {
    const current = options.status === null ? null : this.runtime.status(podUID(pod));
    const status = current && options.withoutContainers ? { ...current, containers: [] } : current;
    const handler = this.runtimeHandler && { runtimeHandler: this.runtimeHandler };
    const allocation = this.userNamespace && { allocation: { userNamespace: this.userNamespace } };
    return this.#run(
      {
        kind: 'sync',
        pod,
        status,
        apiStatus: options.apiStatus ?? {},
        backoffs: this.backoffs,
        dependenciesReady: options.dependenciesReady ?? false,
        isRetry: options.isRetry ?? false,
        hasSandboxPermit: options.hasSandboxPermit ?? false,
        volumesMounted: this.volumesMounted,
        unfinishedHooks: this.unfinishedHooks,
        ...handler,
        ...allocation,
        ...(this.actuated && { actuated: this.actuated }),
      },
      podUID(pod),
    );
  }

  /** Runs a sync to its end, and keeps the back-offs for the next one. */
  async syncToEnd(
    pod: Pod,
    options: {
      readonly status?: null;
      readonly withoutContainers?: boolean;
      readonly apiStatus?: PodStatus;
      readonly dependenciesReady?: boolean;
      readonly isRetry?: boolean;
      readonly hasSandboxPermit?: boolean;
    } = {},
  ): Promise<{ channel: FakeTaskChannel; result: PodSyncResult }> {
    const { channel, result } = this.startSync(pod, options);
    const settled = await result;
    const changed = new Set(settled.backoffs.map(({ key }) => key));
    this.backoffs = [...this.backoffs.filter(({ key }) => !changed.has(key)), ...settled.backoffs];
    return { channel, result: settled };
  }

  terminate(pod: Pod, gracePeriodSeconds: number | null = null): Run {
    const status = this.runtime.status(podUID(pod))!;
    return this.#run({ kind: 'terminating', pod, status, gracePeriodSeconds }, podUID(pod));
  }

  run(task: TaskInput, uid: string): Run {
    return this.#run(task, uid);
  }

  #run(task: TaskInput, uid: string): Run {
    const channel = new FakeTaskChannel(this.images, this.withholdsPermits, this.podObjects);
    const fullTask = { ...task, podUID: uid, node: this.node, channel: null } as unknown as PodSyncTask;
    const reply = runTask(this.#dependencies(), fullTask, channel);
    return { channel, result: reply.then(({ result, notifications }) => (channel.postMessage(notifications), result)) };
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
        resizableValues: async () => this.cgroupValues,
        difference: async () => this.cgroupDifference,
        setResizableValue: (_pod, part) => effect(`set ${part} of the cgroup`),
        podMemoryUsage: async () => this.memoryUsage,
        containerMemoryUsage: async () => this.memoryUsage,
        thaw: () => Promise.resolve(),
        kill: () => effect('kill processes'),
        remove: () => effect('remove cgroup'),
        syncCgroups: async () => ({ failures: [] }),
        listPods: async () => [],
      },
      volumes: {
        mountVolumes: () =>
          effect('mount volumes').then(
            () =>
              this.volumeFailure
                ? [this.volumeFailure]
                : this.outdatedVolumeMessage === null
                  ? []
                  : [{ volume: 'data', message: this.outdatedVolumeMessage, state: 'outdated' }],
            (err: Error) => [{ volume: 'data', message: err.message, state: 'missing' }],
          ),
        resizeMemoryVolume: ({ pod, volume }) => effect(`resize ${volume} to ${memoryLimitsOf(pod.spec).get(volume)}`),
        makeContainerMounts: ({ container }) => effect(`make mounts of ${container.name}`).then(() => []),
        writeHostsFile: (_pod, podIPs) => effect(`write hosts ${podIPs.join()}`),
        readEnvFiles: (input) => this.readEnvFiles(input),
        unmountVolumes: (_uid, signal) => (this.unmountHangs ? rejectWhenAborted(signal) : effect('unmount volumes')),
        removePodDirectory: () => effect('remove folder'),
      },
      largeWork: this.largeWork,
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
      httpGet: ({ scheme, host, port, path }) => {
        this.hookURLs.push(`${scheme}://${host}:${port}${path}`);
        return effect('http get');
      },
      clock: this.clock,
      logger: this.logs.logger,
    };
  }
}

type TaskInput = PodSyncTask extends infer T ? (T extends unknown ? Omit<T, 'channel' | 'podUID' | 'node'> : never) : never;

function rejectWhenAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}
