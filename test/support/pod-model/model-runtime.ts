/**
 * The container runtime of a modelled node: what exists, what happens to it in time, and what it was asked for. Kubelets reach it through
 * runtime-calls.ts. Images name the behaviour of their containers (pod-histories/pod-shapes.ts).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HistoryEntry } from '../../../lab/simulated-runtime/history.ts';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import type { ContainerConfig, LinuxContainerResources, PodSandboxConfig } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { ModelClock } from './model-clock.ts';

export interface ModelSandbox {
  readonly id: string;
  readonly podUID: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtMs: number;
  readonly ip: string;
  ready: boolean;
  /** What the runtime was last told of the pod's cgroup. */
  resources?: LinuxContainerResources;
}

/** Bytes, µs and shares; 0 or −1: none. */
export interface ModelResources {
  readonly memoryLimit: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  /** Files of cgroup v2, as JSON. */
  readonly unified: string;
}

/** The kernel's values of the files that a container may set. */
const unifiedDefaults = { 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' };

export interface ModelContainer {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandbox: ModelSandbox;
  readonly config: ContainerConfig;
  readonly createdAtMs: number;
  state: 'created' | 'running' | 'exited' | 'unknown';
  startedAtMs: number;
  finishedAtMs: number;
  exitCode: number;
  reason: string;
  /** Of its cgroup. */
  resources: ModelResources;
  usageBytes: number;
  /** Ms of the runtime's clock since when it uses them. */
  usedSinceMs: number;
  /** Ms of the runtime's clock at which a stop request kills it. */
  killAtMs: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** An entry of the history, with what the invariants need to know of it. */
export type ModelRuntimeEntry = HistoryEntry & {
  readonly sandboxID: string;
  readonly attempt: number;
  readonly podName: string;
  readonly exitCode?: number;
};

const killedCode = 137;

export class ModelRuntime {
  readonly sandboxes = new Map<string, ModelSandbox>();
  readonly containers = new Map<string, ModelContainer>();
  readonly history: ModelRuntimeEntry[] = [];
  /** Called after each change, with the pod's UID. */
  onChange: (podUID: string) => void = () => {};
  /** Returns the kernel's refusal of a container's resources. */
  checkResources: (container: ModelContainer) => string | null = () => null;
  /** The calls that have changed a container's resources. */
  updates = 0;
  readonly #clock: ModelClock;
  #lastID = 0;

  constructor(clock: ModelClock) {
    this.#clock = clock;
  }

  runSandbox(config: PodSandboxConfig, runtimeHandler: string): ModelSandbox {
    const { uid = '', attempt = 0 } = config.metadata ?? {};
    const taken = [...this.sandboxes.values()].some((one) => one.podUID === uid && (one.config.metadata?.attempt ?? 0) === attempt);
    if (taken) throw new CriError('RunPodSandbox', grpcCode.UNKNOWN, `failed to reserve sandbox name for ${uid}, attempt ${attempt}`);
    const sandbox = {
      id: this.#id('s'),
      podUID: uid,
      config,
      runtimeHandler,
      createdAtMs: this.#clock.now(),
      ip: `10.0.${this.#lastID >> 8}.${this.#lastID & 255}`,
      ready: true,
    };
    this.sandboxes.set(sandbox.id, sandbox);
    this.onChange(uid);
    return sandbox;
  }

  stopSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) return;
    sandbox.ready = false;
    for (const container of this.#containersIn(id)) this.exit(container, killedCode);
    this.onChange(sandbox.podUID);
  }

  removeSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) return;
    this.stopSandbox(id);
    for (const container of this.#containersIn(id)) this.removeContainer(container.id);
    this.sandboxes.delete(id);
    this.onChange(sandbox.podUID);
  }

  createContainer(sandboxID: string, config: ContainerConfig): ModelContainer {
    const sandbox = this.sandboxes.get(sandboxID);
    if (!sandbox) throw new CriError('CreateContainer', grpcCode.NOT_FOUND, `sandbox ${sandboxID} not found`);
    if (!sandbox.ready) throw new CriError('CreateContainer', grpcCode.UNKNOWN, `sandbox ${sandboxID} is not running`);
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const taken = this.#containersIn(sandboxID).some((one) => one.name === name && one.attempt === attempt);
    if (taken) throw new CriError('CreateContainer', grpcCode.UNKNOWN, `failed to reserve container name ${name}, attempt ${attempt}`);
    const container: ModelContainer = {
      id: this.#id('c'),
      name,
      attempt,
      sandbox,
      config,
      createdAtMs: this.#clock.now(),
      state: 'created',
      startedAtMs: 0,
      finishedAtMs: 0,
      exitCode: 0,
      reason: '',
      resources: toModelResources(config.linux?.resources),
      usageBytes: 0,
      usedSinceMs: 0,
      killAtMs: Infinity,
      ended: Promise.withResolvers(),
    };
    this.containers.set(container.id, container);
    this.onChange(sandbox.podUID);
    return container;
  }

  startContainer(id: string): void {
    const container = this.containers.get(id);
    if (!container) throw new CriError('StartContainer', grpcCode.NOT_FOUND, `container ${id} not found`);
    this.#record('startRequested', container);
    if (container.state !== 'created')
      throw new CriError('StartContainer', grpcCode.UNKNOWN, `container ${id} is in state ${container.state}`);
    if (!container.sandbox.ready) throw new CriError('StartContainer', grpcCode.UNKNOWN, 'its sandbox is not running');
    const refused = this.checkResources(container);
    if (refused) throw new CriError('StartContainer', grpcCode.UNKNOWN, `failed to start container: ${refused}`);
    container.state = 'running';
    container.startedAtMs = this.#clock.now();
    this.#record('started', container);
    writeLog(container);
    this.onChange(container.sandbox.podUID);
    const end = /^sim\/exit:(?<code>\d+)-after-(?<ms>\d+)ms$/.exec(container.config.image?.userSpecifiedImage ?? '')?.groups;
    if (end) this.#clock.after(Number(end['ms']), () => this.exit(container, Number(end['code'])));
  }

  /** Resolves when the container has ended. */
  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    const container = this.containers.get(id);
    if (!container) return;
    this.#record('stopRequested', container, { graceSeconds });
    if (container.state === 'created' || container.state === 'exited') return;
    const image = container.config.image?.userSpecifiedImage ?? '';
    const killAtMs = this.#clock.monotonic() + graceSeconds * 1000;
    if (killAtMs < container.killAtMs) {
      container.killAtMs = killAtMs;
      this.#clock.after(graceSeconds * 1000, () => this.exit(container, killedCode));
    }
    if (image.startsWith('sim/slowstop')) this.#clock.after(1000, () => this.exit(container, 0));
    else if (!image.startsWith('sim/stubborn')) this.#clock.after(20, () => this.exit(container, 143));
    await container.ended.promise;
  }

  updateContainer(id: string, resources: LinuxContainerResources | undefined): void {
    const container = this.containers.get(id);
    if (!container) throw new CriError('UpdateContainerResources', grpcCode.NOT_FOUND, `container ${id} not found`);
    const before = container.resources;
    this.updates += 1;
    container.resources = toModelResources(resources, container.resources);
    const refused = container.state === 'running' ? this.checkResources(container) : null;
    if (!refused) return;
    container.resources = before;
    throw new CriError('UpdateContainerResources', grpcCode.UNKNOWN, `failed to update resources: ${refused}`);
  }

  removeContainer(id: string): void {
    const container = this.containers.get(id);
    if (!container) return;
    this.exit(container, killedCode);
    this.containers.delete(id);
    this.#record('removed', container);
    this.onChange(container.sandbox.podUID);
  }

  exit(container: ModelContainer, exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): void {
    container.ended.resolve();
    if (container.state !== 'running' && container.state !== 'unknown') return;
    Object.assign(container, { state: 'exited', exitCode, reason, finishedAtMs: this.#clock.now() });
    this.#record('ended', container, { exitCode });
    this.onChange(container.sandbox.podUID);
  }

  running(): readonly ModelContainer[] {
    return [...this.containers.values()].filter(({ state }) => state === 'running');
  }

  #containersIn(sandboxID: string): readonly ModelContainer[] {
    return [...this.containers.values()].filter(({ sandbox }) => sandbox.id === sandboxID);
  }

  #record(type: HistoryEntry['type'], container: ModelContainer, more: { graceSeconds?: number; exitCode?: number } = {}): void {
    const { id, name, attempt, sandbox } = container;
    this.history.push({
      atMs: this.#clock.monotonic(),
      type,
      podUID: sandbox.podUID,
      podName: sandbox.config.metadata?.name ?? '',
      container: name,
      containerID: id,
      sandboxID: sandbox.id,
      attempt,
      ...more,
    });
  }

  #id(prefix: string): string {
    this.#lastID += 1;
    return `${prefix}-${String(this.#lastID).padStart(5, '0')}`;
  }
}

/** @param before the files that an update does not name stay */
export function toModelResources(
  { memoryLimitInBytes = 0n, cpuQuota = 0n, cpuShares = 0n, unified = {} }: Partial<LinuxContainerResources> = {},
  before?: ModelResources,
): ModelResources {
  const files = { ...(before ? (JSON.parse(before.unified) as typeof unified) : unifiedDefaults), ...unified };
  return {
    memoryLimit: Number(memoryLimitInBytes),
    cpuQuota: Number(cpuQuota),
    cpuShares: Number(cpuShares),
    unified: JSON.stringify(files),
  };
}

/** The kubelet reads restart counts from the names of logs when the runtime has lost a container. */
function writeLog({ sandbox, config }: ModelContainer): void {
  const path = join(sandbox.config.logDirectory, config.logPath);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}
