/** How a kubelet reaches the modelled runtime: calls take time, fail, hang, or lose their reply with the caller's life. */
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import * as cri from '../../../src/shared/cri/generated/cri-v1.ts';
import { podUIDLabel } from '../../../src/shared/kubernetes/annotations.ts';
import type { ContainerID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';
import type { CriClient } from '../../../src/shared/cri/client.ts';
import { createPodRuntime, type PodRuntime } from '../../../src/workers/pod-sync/pod/pod-runtime.ts';
import type { KillPoints } from './kill-points.ts';
import type { Life, ModelClock } from './model-clock.ts';
import type { ModelContainer, ModelRuntime, ModelSandbox } from './model-runtime.ts';

/** `failAfter`: the runtime acts, and its reply is an error. `hang`: no reply before the deadline. */
export interface CallFault {
  readonly kind: 'fail' | 'failAfter' | 'delay' | 'hang';
  times: number;
}

/** How the runtime answers UpdatePodSandboxResources: some versions of containerd do not have it, in two forms. */
export type SandboxUpdates = 'works' | 'unimplemented' | 'unknown' | 'refuses' | 'hangs';

/** A kubelet may be killed before and after them. */
const killedCalls = new Set([
  'RunPodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'UpdateContainerResources',
  'UpdatePodSandboxResources',
]);
const latencyMs: Readonly<Record<string, number>> = { RunPodSandbox: 40, CreateContainer: 15, StartContainer: 15, StopPodSandbox: 25 };
const delayMs = 500;
const states = { created: 0, running: 1, exited: 2, unknown: 3 } as const;

export class RuntimeCalls {
  readonly #runtime: ModelRuntime;
  readonly #clock: ModelClock;
  #lists = 0;
  readonly faults = new Map<string, CallFault>();
  /** False: nobody serves the socket. */
  isUp = true;
  /** The exit code of commands in a pod's containers. */
  execResult: (podUID: string) => number = () => 0;
  sandboxUpdates: SandboxUpdates = 'works';
  /** Called when a call begins, with its name and the model's time. */
  onCall: (name: string, atMs: number) => void = () => {};
  /** Updates of an object that began before the one before had its reply. */
  readonly overlaps = new Set<string>();
  /** By object: whose call is under way. */
  readonly #updating = new Map<string, Life>();
  readonly #killPoints: KillPoints;

  constructor(runtime: ModelRuntime, clock: ModelClock, killPoints: KillPoints) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#killPoints = killPoints;
  }

  async #call<T>(life: Life, name: string, act: () => T | Promise<T>, options: { deadlineMs: number; signal?: AbortSignal }): Promise<T> {
    if (!life.isAlive) return new Promise(() => {});
    return life.guard(untilAborted(this.#run(life, name, act, options.deadlineMs), options.signal, name));
  }

  async #run<T>(life: Life, name: string, act: () => T | Promise<T>, deadlineMs: number): Promise<T> {
    this.onCall(name, this.#clock.monotonic());
    await this.#clock.sleep(latencyMs[name] ?? 1);
    if (killedCalls.has(name)) this.#killPoints.pass();
    if (!life.isAlive) return new Promise(() => {});
    const hangs = name === 'UpdatePodSandboxResources' && this.sandboxUpdates === 'hangs';
    const fault = hangs ? 'hang' : this.#takeFault(name);
    if (!this.isUp) throw new CriError(name, grpcCode.UNAVAILABLE, 'connection refused');
    if (fault === 'delay') await this.#clock.sleep(delayMs);
    if (fault === 'hang') await this.#clock.sleep(deadlineMs);
    if (fault === 'hang') throw new CriError(name, grpcCode.DEADLINE_EXCEEDED, 'context deadline exceeded');
    if (fault === 'fail') throw new CriError(name, grpcCode.UNKNOWN, 'a fault of the test');
    const result = await act();
    if (killedCalls.has(name)) this.#killPoints.pass();
    if (fault === 'failAfter') throw new CriError(name, grpcCode.UNKNOWN, 'a fault of the test, after the fact');
    return result;
  }

  /** A call of a kubelet or a thread that has ended may go on in the runtime. */
  async #oneUpdate<T>(life: Life, id: string, call: () => Promise<T>): Promise<T> {
    if (this.#updating.get(id)?.isAlive) this.overlaps.add(id);
    this.#updating.set(id, life);
    try {
      return await call();
    } finally {
      if (this.#updating.get(id) === life) this.#updating.delete(id);
    }
  }

  #takeFault(name: string): CallFault['kind'] | undefined {
    const fault = this.faults.get(name);
    if (!fault) return undefined;
    fault.times -= 1;
    if (fault.times <= 0) this.faults.delete(name);
    return fault.kind;
  }

  /** For the tasks of a thread of the sync pool. */
  forTasks(life: Life): PodRuntime {
    const runtime = this.#runtime;
    const call = <T>(name: string, act: () => T | Promise<T>, deadlineMs = 120_000, signal?: AbortSignal) =>
      this.#call(life, name, act, { deadlineMs, ...(signal && { signal }) });
    const sandboxUpdater = {
      call: (_: string, request: cri.UpdatePodSandboxResourcesRequest) =>
        call('UpdatePodSandboxResources', () => this.#updateSandbox(request)),
    } as unknown as CriClient['runtime'] & CriClient['images'];
    return {
      runPodSandbox: (config, handler, signal) =>
        call('RunPodSandbox', () => runtime.runSandbox(config, handler).id as SandboxID, 240_000, signal),
      podSandboxStatus: (id) => call('PodSandboxStatus', () => found(toSandboxStatus(runtime.sandboxes.get(id)), 'PodSandboxStatus')),
      stopPodSandbox: (id) => call('StopPodSandbox', () => runtime.stopSandbox(id)),
      removePodSandbox: (id) => call('RemovePodSandbox', () => runtime.removeSandbox(id)),
      findSandboxes: (podUID) =>
        call('ListPodSandbox', () =>
          this.#sandboxesOf(podUID).map(({ id, config, ready }) => ({
            id: id as SandboxID,
            attempt: config.metadata?.attempt ?? 0,
            ready,
          })),
        ),
      createContainer: (sandboxID, config) => call('CreateContainer', () => runtime.createContainer(sandboxID, config).id as ContainerID),
      startContainer: (id) => call('StartContainer', () => runtime.startContainer(id)),
      stopContainer: (id, graceSeconds, signal) =>
        call('StopContainer', () => runtime.stopContainer(id, graceSeconds), graceSeconds * 1000 + 120_000, signal),
      removeContainer: (id) => call('RemoveContainer', () => runtime.removeContainer(id)),
      findContainers: (sandboxID, name) =>
        call('ListContainers', () =>
          [...runtime.containers.values()]
            .filter((one) => one.sandbox.id === sandboxID && one.name === name)
            .map(({ id, attempt, state }) => ({ id: id as ContainerID, attempt, state })),
        ),
      updateContainerResources: (id, resources) =>
        this.#oneUpdate(life, id, () => call('UpdateContainerResources', () => runtime.updateContainer(id, resources))),
      updatePodSandboxResources: (id, resources) =>
        this.#oneUpdate(life, id, () => createPodRuntime(sandboxUpdater, sandboxUpdater, 120_000).updatePodSandboxResources(id, resources)),
      updatePodCIDR: () => call('UpdateRuntimeConfig', () => true),
      execSync: (id, _command, deadlineMs, signal) =>
        call(
          'ExecSync',
          () => {
            const container = runtime.containers.get(id);
            if (container?.state !== 'running') throw new CriError('ExecSync', grpcCode.UNKNOWN, 'container is not running');
            return { exitCode: this.execResult(container.sandbox.podUID), output: '' };
          },
          deadlineMs,
          signal,
        ),
      imageUser: async () => ({}),
      call: (name) => call(name, () => Promise.reject(new CriError(name, grpcCode.UNIMPLEMENTED, 'the model has no such call'))),
    };
  }

  #updateSandbox({ podSandboxId, resources }: cri.UpdatePodSandboxResourcesRequest): object {
    const name = 'UpdatePodSandboxResources';
    const sandbox = this.#runtime.sandboxes.get(podSandboxId);
    if (this.sandboxUpdates === 'unimplemented') throw new CriError(name, 12, 'unknown method UpdatePodSandboxResources');
    if (this.sandboxUpdates === 'unknown') throw new CriError(name, 2, 'not implemented');
    if (this.sandboxUpdates === 'refuses') throw new CriError(name, 2, 'the runtime refuses');
    if (!sandbox) throw new CriError(name, grpcCode.NOT_FOUND, 'not found');
    if (resources) sandbox.resources = resources;
    return {};
  }

  /** For the pleg thread. `events`: the runtime's event stream. */
  forPleg(life: Life, events: PlegRuntime['events']): PlegRuntime {
    const runtime = this.#runtime;
    const call = <T>(name: string, act: () => T, deadlineMs: number, signal: AbortSignal) =>
      this.#call(life, name, act, { deadlineMs, signal });
    const containers = () => this.#shuffled([...runtime.containers.values()]);
    const sandboxes = () => this.#shuffled([...runtime.sandboxes.values()]);
    return {
      listSandboxes: (signal) =>
        call('ListPodSandbox', () => [cri.ListPodSandboxResponse.encode({ items: sandboxes().map(toSandbox) }).finish()], 120_000, signal),
      listContainers: (signal) =>
        call(
          'ListContainers',
          () => [cri.ListContainersResponse.encode({ containers: containers().map(toContainer) }).finish()],
          120_000,
          signal,
        ),
      listPod: async (podUID, signal) => {
        const [podSandboxes, podContainers] = await Promise.all([
          call('ListPodSandbox', () => this.#sandboxesOf(podUID).map(toSandbox), 10_000, signal),
          call(
            'ListContainers',
            () =>
              containers()
                .filter(({ sandbox }) => sandbox.podUID === podUID)
                .map(toContainer),
            10_000,
            signal,
          ),
        ]);
        return { sandboxes: podSandboxes, containers: podContainers };
      },
      sandboxStatus: (id, signal) => call('PodSandboxStatus', () => toSandboxStatus(runtime.sandboxes.get(id)), 10_000, signal),
      sandboxInfo: async () => ({}),
      containerStatus: (id, signal) => call('ContainerStatus', () => toContainerStatus(runtime.containers.get(id)), 10_000, signal),
      events,
      runtimeInfo: async () => ({
        runtimeName: 'model',
        runtimeVersion: '1',
        runtimeApiVersion: 'v1',
        conditions: [],
        handlers: [],
        cgroupDriver: null,
      }),
      close: () => {},
    };
  }

  /** Runtimes list in any order. */
  #shuffled<T>(items: readonly T[]): readonly T[] {
    this.#lists += 1;
    return items.map((_, index) => items[(index + this.#lists) % items.length]!);
  }

  #sandboxesOf(podUID: string): readonly ModelSandbox[] {
    return [...this.#runtime.sandboxes.values()].filter((sandbox) => sandbox.podUID === podUID);
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, name: string): Promise<T> {
  work.catch(() => {});
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject((signal.reason as Error) ?? new CriError(name, grpcCode.CANCELLED, 'canceled'));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject);
  });
}

function found<T>(value: T | null, call: string): T {
  if (value === null) throw new CriError(call, grpcCode.NOT_FOUND, 'not found');
  return value;
}

const ns = (ms: number) => BigInt(Math.round(ms * 1e6));

function toSandbox({ id, config, ready, createdAtMs, runtimeHandler }: ModelSandbox): cri.PodSandbox {
  const { metadata, labels, annotations } = config;
  return cri.PodSandbox.fromPartial({
    id,
    metadata,
    labels,
    annotations,
    state: ready ? 0 : 1,
    createdAt: ns(createdAtMs),
    runtimeHandler,
  });
}

function toSandboxStatus(sandbox: ModelSandbox | undefined): cri.PodSandboxStatus | null {
  if (!sandbox) return null;
  const { id, metadata, labels, annotations, state, createdAt, runtimeHandler } = toSandbox(sandbox);
  const network = { ip: sandbox.ready ? sandbox.ip : '' };
  return cri.PodSandboxStatus.fromPartial({ id, metadata, labels, annotations, state, createdAt, runtimeHandler, network });
}

function toContainer({ id, sandbox, config, state, createdAtMs }: ModelContainer): cri.Container {
  const { metadata, image, labels, annotations } = config;
  return cri.Container.fromPartial({
    id,
    podSandboxId: sandbox.id,
    metadata,
    image,
    imageRef: image?.image ?? '',
    state: states[state],
    createdAt: ns(createdAtMs),
    labels: { ...labels, [podUIDLabel]: sandbox.podUID },
    annotations,
  });
}

function toContainerStatus(container: ModelContainer | undefined): cri.ContainerStatus | null {
  if (!container) return null;
  const { id, metadata, image, imageRef, state, createdAt, labels, annotations } = toContainer(container);
  const { startedAtMs, finishedAtMs, exitCode, reason } = container;
  const { cpuShares, cpuQuota, memoryLimit } = container.resources;
  const linux = {
    cpuShares: BigInt(cpuShares),
    cpuQuota: BigInt(cpuQuota),
    cpuPeriod: 100_000n,
    memoryLimitInBytes: BigInt(memoryLimit),
  };
  const times = { createdAt, startedAt: ns(startedAtMs), finishedAt: ns(finishedAtMs) };
  return cri.ContainerStatus.fromPartial({
    id,
    metadata,
    image,
    imageRef,
    state,
    ...times,
    labels,
    annotations,
    exitCode,
    reason,
    resources: { linux },
  });
}
