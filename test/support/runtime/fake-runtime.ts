/**
 * A container runtime in memory with the behaviour that a sync relies on: names are reserved by attempt, containers need a ready sandbox, and a stop
 * takes the container's stop delay, at most its grace period. `calls` lists the calls in order.
 */
import type { RuntimeContainerStatus, RuntimePodStatus, RuntimeSandboxStatus } from '../../../src/shared/contracts/runtime-status.ts';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import {
  PodSandboxStatus,
  type ContainerConfig,
  type LinuxContainerResources,
  type PodSandboxConfig,
} from '../../../src/shared/cri/generated/cri-v1.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import type { ExecResult, PodRuntime, SandboxResources } from '../../../src/workers/pod-sync/pod/pod-runtime.ts';
import type { FakeClock } from '../fake-clock.ts';

interface FakeSandbox extends RuntimeSandboxStatus {
  readonly podUID: string;
}

type CallName = Exclude<keyof PodRuntime, 'call'> | Parameters<PodRuntime['call']>[0];

export class FakeRuntime implements PodRuntime {
  readonly calls: string[] = [];
  readonly sandboxConfigs: PodSandboxConfig[] = [];
  readonly containerConfigs: ContainerConfig[] = [];
  /** Of `updateContainerResources`. */
  readonly updates: LinuxContainerResources[] = [];
  /** Of `updatePodSandboxResources`. */
  readonly sandboxUpdates: LinuxContainerResources[] = [];
  takesSandboxUpdates = true;
  /** Ms that a container of this name takes to exit after SIGTERM; Infinity: the container exits only when killed. */
  readonly stopDelaysMs = new Map<string, number>();
  /** Runs a command in a container. Succeeds by default. */
  exec: (id: ContainerID, command: readonly string[], signal?: AbortSignal) => Promise<ExecResult> = () =>
    Promise.resolve({ exitCode: 0, output: '' });
  hostNetwork = false;
  #sandboxes: FakeSandbox[] = [];
  #containers: RuntimeContainerStatus[] = [];
  readonly #failures = new Map<string, CriError[]>();
  readonly #stopping = new Map<ContainerID, PromiseWithResolvers<void>>();
  readonly #clock: FakeClock;
  #lastId = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** The next call of this name fails. */
  failNext(call: CallName, message = 'no luck', code: number = grpcCode.UNKNOWN): void {
    this.#failures.set(call, [...(this.#failures.get(call) ?? []), new CriError(call, code, message)]);
  }

  /** Returns the runtime status of the pod; null when the runtime has nothing of the pod. */
  status(podUID: string): RuntimePodStatus | null {
    const sandboxes = this.#sandboxes.filter((sandbox) => sandbox.podUID === podUID).toSorted((a, b) => b.attempt - a.attempt);
    const ids = new Set(sandboxes.map(({ id }) => id));
    const containers = this.#containers.filter(({ sandboxID }) => ids.has(sandboxID)).toReversed();
    if (sandboxes.length === 0) return null;
    const podIPs = sandboxes.find(({ state }) => state === 'ready')?.podIPs ?? [];
    return { podUID: podUID as PodUID, name: 'web', namespace: 'default', podIPs, sandboxes, containers, observedAtMs: 0 };
  }

  /** Changes the newest instance of a container. */
  change(name: string, change: Partial<RuntimeContainerStatus>): void {
    const index = this.#containers.findLastIndex((container) => container.name === name);
    this.#containers[index] = { ...this.#containers[index]!, ...change };
  }

  exit(name: string, exitCode: number): void {
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    this.change(name, { state: 'exited', exitCode, reason, finishedAtMs: this.#clock.now() });
  }

  loseSandbox(): void {
    this.#sandboxes = this.#sandboxes.map((sandbox) => ({ ...sandbox, state: 'notReady' }));
    for (const { name, state } of this.#containers) if (state === 'running') this.exit(name, 137);
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler: string, _signal: AbortSignal): Promise<SandboxID> {
    const { attempt = 0, uid = '' } = config.metadata ?? {};
    this.#call('runPodSandbox', String(attempt));
    if (this.#sandboxes.some((sandbox) => sandbox.podUID === uid && sandbox.attempt === attempt)) throw reserved('RunPodSandbox');
    this.sandboxConfigs.push(config);
    const id = this.#id('sandbox') as SandboxID;
    const podIPs = this.hostNetwork ? [] : [`10.0.0.${this.#lastId}`];
    const sandbox = {
      id,
      state: 'ready',
      attempt,
      createdAtMs: this.#clock.now(),
      hostNetwork: this.hostNetwork,
      runtimeHandler,
    } as const;
    this.#sandboxes.push({ ...sandbox, podIPs, podUID: uid });
    return Promise.resolve(id);
  }

  async podSandboxStatus(id: SandboxID): Promise<PodSandboxStatus> {
    this.#call('podSandboxStatus');
    const [ip = '', ...more] = this.#sandboxes.find((sandbox) => sandbox.id === id)?.podIPs ?? [];
    return Promise.resolve(PodSandboxStatus.fromPartial({ id, network: { ip, additionalIps: more.map((other) => ({ ip: other })) } }));
  }

  async stopPodSandbox(id: SandboxID): Promise<void> {
    this.#call('stopPodSandbox', id);
    this.#sandboxes = this.#sandboxes.map((sandbox) => (sandbox.id === id ? { ...sandbox, state: 'notReady' } : sandbox));
    for (const { name, sandboxID, state } of this.#containers) if (sandboxID === id && state === 'running') this.exit(name, 137);
    return Promise.resolve();
  }

  async removePodSandbox(id: SandboxID): Promise<void> {
    this.#call('removePodSandbox', id);
    this.#sandboxes = this.#sandboxes.filter((sandbox) => sandbox.id !== id);
    return Promise.resolve();
  }

  async findSandboxes(podUID: PodUID) {
    this.#call('findSandboxes');
    const found = this.#sandboxes.filter((sandbox) => sandbox.podUID === podUID);
    return Promise.resolve(found.map(({ id, attempt, state }) => ({ id, attempt, ready: state === 'ready' })));
  }

  async createContainer(sandboxID: SandboxID, config: ContainerConfig): Promise<ContainerID> {
    const { name = '', attempt = 0 } = config.metadata ?? {};
    this.#call('createContainer', `${name} ${attempt}`);
    const sandbox = this.#sandboxes.find(({ id }) => id === sandboxID);
    if (sandbox?.state !== 'ready') throw new CriError('CreateContainer', grpcCode.UNKNOWN, `sandbox ${sandboxID} is not ready`);
    if (this.#find(sandboxID, name).some(({ restartCount }) => restartCount === attempt)) throw reserved('CreateContainer');
    this.containerConfigs.push(config);
    const id = this.#id(name) as ContainerID;
    this.#containers.push({
      id,
      sandboxID,
      name,
      state: 'created',
      createdAtMs: this.#clock.now(),
      startedAtMs: 0,
      finishedAtMs: 0,
      exitCode: 0,
      image: config.image?.userSpecifiedImage ?? '',
      imageID: '',
      imageRef: config.image?.image ?? '',
      hash: config.annotations['io.kubernetes.container.hash'] ?? '',
      restartCount: attempt,
      reason: '',
      message: '',
      logPath: '',
      mounts: [],
      orphan: {},
    });
    return Promise.resolve(id);
  }

  async startContainer(id: ContainerID): Promise<void> {
    const container = this.#byId(id);
    this.#call('startContainer', container.name);
    this.#set(id, { state: 'running', startedAtMs: this.#clock.now() });
    return Promise.resolve();
  }

  async updateContainerResources(id: ContainerID, resources: LinuxContainerResources): Promise<void> {
    this.#call('updateContainerResources', this.#byId(id).name);
    this.updates.push(resources);
    return Promise.resolve();
  }

  async updatePodCIDR(): Promise<boolean> {
    this.#call('updatePodCIDR');
    return true;
  }

  async updatePodSandboxResources(_id: SandboxID, { resources }: SandboxResources): Promise<boolean> {
    this.#call('updatePodSandboxResources');
    if (this.takesSandboxUpdates) this.sandboxUpdates.push(resources);
    return this.takesSandboxUpdates;
  }

  async stopContainer(id: ContainerID, graceSeconds: number, signal?: AbortSignal): Promise<void> {
    const { name, state } = this.#byId(id);
    this.#call('stopContainer', `${name} ${graceSeconds}`);
    if (state !== 'running' && state !== 'unknown') return;
    const ended = this.#stopping.get(id) ?? Promise.withResolvers<void>();
    this.#stopping.set(id, ended);
    const inMs = Math.min(this.stopDelaysMs.get(name) ?? 0, graceSeconds * 1000);
    const end = () => {
      if (this.#byId(id).state !== 'exited') {
        this.#set(id, { state: 'exited', exitCode: 143, reason: 'Error', finishedAtMs: this.#clock.now() });
      }
      ended.resolve();
    };
    if (inMs === 0) end();
    else this.#clock.after(inMs, end);
    const cancelled = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new CriError('StopContainer', grpcCode.CANCELLED, 'cancelled')));
    });
    await Promise.race([ended.promise, cancelled]);
  }

  async removeContainer(id: ContainerID): Promise<void> {
    this.#call('removeContainer', id);
    this.#containers = this.#containers.filter((container) => container.id !== id);
    return Promise.resolve();
  }

  async findContainers(sandboxID: SandboxID, name: string) {
    this.#call('findContainers', name);
    return Promise.resolve(this.#find(sandboxID, name).map(({ id, restartCount, state }) => ({ id, attempt: restartCount, state })));
  }

  async execSync(id: ContainerID, command: readonly string[], _deadlineMs: number, signal?: AbortSignal): Promise<ExecResult> {
    this.#call('execSync', `${this.#byId(id).name} ${command.join(' ')}`);
    return this.exec(id, command, signal);
  }

  async imageUser(): Promise<{ uid?: bigint; username?: string }> {
    return Promise.resolve({});
  }

  /** Records calls for which this runtime has no behaviour: the reply has no fields. */
  call: PodRuntime['call'] = async (method, request) => {
    this.#call(method, Object.values(request as object).join(' '));
    return {} as never;
  };

  #call(name: CallName, detail = ''): void {
    this.calls.push(detail === '' ? name : `${name} ${detail}`);
    const failure = this.#failures.get(name)?.shift();
    if (failure) throw failure;
  }

  #id(prefix: string): string {
    this.#lastId += 1;
    return `${prefix}-${this.#lastId}`;
  }

  #find(sandboxID: SandboxID, name: string): RuntimeContainerStatus[] {
    return this.#containers.filter((container) => container.sandboxID === sandboxID && container.name === name);
  }

  #byId(id: ContainerID): RuntimeContainerStatus {
    const found = this.#containers.find((container) => container.id === id);
    if (!found) throw new CriError('fake', grpcCode.NOT_FOUND, `container ${id} not found`);
    return found;
  }

  #set(id: ContainerID, change: Partial<RuntimeContainerStatus>): void {
    this.#containers = this.#containers.map((container) => (container.id === id ? { ...container, ...change } : container));
  }
}

function reserved(call: string): CriError {
  return new CriError(call, grpcCode.UNKNOWN, 'failed to reserve the name: it is reserved for another');
}
