/**
 * The state machine of sandboxes and containers with containerd 1.7's rules: which calls are allowed in which state, their effects and
 * errors. Synchronous: the time is an argument.
 *
 *   sandbox:    (name reserved) ──commit──▶ ready ──stop, death──▶ notReady ──remove──▶ gone
 *   container:  (name reserved) ──commit──▶ created ──start──▶ running ──exit──▶ exited ──remove──▶ gone
 *                                              └──────start failed──────────────▶ exited (128, StartError)
 *
 *  - A name is reserved from the start of the creating call until the object is removed or the call fails.
 *  - Lists contain an object only after its creating call is done.
 */
import { randomBytes } from 'node:crypto';
import type { ContainerConfig, LinuxContainerResources, PodSandboxConfig } from '../../src/shared/cri/generated/cri-v1.ts';
import { notFound, unknown } from './rpc-error.ts';

export interface Sandbox {
  readonly id: string;
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  state: 'ready' | 'notReady';
  createdAtNs: bigint;
  /** Empty for host network pods, and after the stop. */
  ip: string;
  readonly containers: Set<Container>;
}

export interface Container {
  readonly id: string;
  readonly name: string;
  readonly sandbox: Sandbox;
  readonly config: ContainerConfig;
  /** Absolute; empty when the configs have no log path. */
  readonly logPath: string;
  readonly imageID: string;
  state: 'created' | 'running' | 'exited' | 'unknown';
  createdAtNs: bigint;
  startedAtNs: bigint;
  finishedAtNs: bigint;
  exitCode: number;
  reason: string;
  message: string;
  starting: boolean;
  removing: boolean;
  resources: LinuxContainerResources | undefined;
}

/** containerd's exit code for a container that failed to start. */
const startErrorCode = 128;

function newID(): string {
  return randomBytes(32).toString('hex');
}

export class Machine {
  readonly sandboxes = new Map<string, Sandbox>();
  readonly containers = new Map<string, Container>();
  readonly #sandboxNames = new Map<string, string>();
  readonly #containerNames = new Map<string, string>();
  #addresses = 0;

  /** Reserves the name. The sandbox is not visible before `commitSandbox`. */
  reserveSandbox(config: PodSandboxConfig | undefined, runtimeHandler: string): Sandbox {
    if (!config?.metadata) throw unknown('sandbox config must include metadata');
    const { name: podName, namespace, uid, attempt } = config.metadata;
    const name = `${podName}_${namespace}_${uid}_${attempt}`;
    const id = newID();
    reserve(this.#sandboxNames, 'sandbox', name, id);
    return { id, name, config, runtimeHandler, state: 'ready', createdAtNs: 0n, ip: '', containers: new Set() };
  }

  commitSandbox(sandbox: Sandbox, nowNs: bigint): void {
    sandbox.createdAtNs = nowNs;
    const usesNodeNetwork = sandbox.config.linux?.securityContext?.namespaceOptions?.network === 2;
    if (!usesNodeNetwork) sandbox.ip = this.#nextAddress();
    this.sandboxes.set(sandbox.id, sandbox);
  }

  abandonSandbox(sandbox: Sandbox): void {
    this.#sandboxNames.delete(sandbox.name);
  }

  /** Checks the sandbox and reserves the name. The container is not visible before `commitContainer`. */
  reserveContainer(sandboxID: string, config: ContainerConfig | undefined, imageID: (name: string) => string | undefined): Container {
    const sandbox = this.sandboxes.get(sandboxID);
    if (!sandbox) throw notFound(`failed to find sandbox id ${JSON.stringify(sandboxID)}`);
    if (sandbox.state !== 'ready')
      throw notFound(`failed to get sandbox container task: no running task found: task ${sandbox.id} not found`);
    if (!config?.metadata) throw unknown('container config must include metadata');
    const pod = sandbox.config.metadata!;
    const name = `${config.metadata.name}_${pod.name}_${pod.namespace}_${pod.uid}_${config.metadata.attempt}`;
    const id = newID();
    reserve(this.#containerNames, 'container', name, id);
    const image = imageID(config.image?.image ?? '');
    if (image === undefined) {
      this.#containerNames.delete(name);
      throw notFound(`failed to resolve image ${JSON.stringify(config.image?.image ?? '')}`);
    }
    const logDirectory = sandbox.config.logDirectory;
    return {
      id,
      name,
      sandbox,
      config,
      logPath: logDirectory === '' || config.logPath === '' ? '' : `${logDirectory}/${config.logPath}`,
      imageID: image,
      state: 'created',
      createdAtNs: 0n,
      startedAtNs: 0n,
      finishedAtNs: 0n,
      exitCode: 0,
      reason: '',
      message: '',
      starting: false,
      removing: false,
      resources: config.linux?.resources,
    };
  }

  commitContainer(container: Container, nowNs: bigint): void {
    container.createdAtNs = nowNs;
    this.containers.set(container.id, container);
    container.sandbox.containers.add(container);
  }

  abandonContainer(container: Container): void {
    this.#containerNames.delete(container.name);
  }

  sandbox(id: string, doing = 'an error occurred when try to find sandbox'): Sandbox {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) throw notFound(doing);
    return sandbox;
  }

  container(id: string): Container {
    const container = this.containers.get(id);
    if (!container) throw notFound(`an error occurred when try to find container ${JSON.stringify(id)}`);
    return container;
  }

  /** Marks the container as starting, which blocks other starts and removals until `markStarted` or `markStartFailed`. */
  beginStart(id: string): Container {
    const container = this.container(id);
    const refuse = (why: string) => unknown(`failed to set starting state for container ${JSON.stringify(id)}: ${why}`);
    if (container.state !== 'created') throw refuse(`container is in CONTAINER_${container.state.toUpperCase()} state`);
    if (container.removing) throw refuse("container is in removing state, can't be started");
    if (container.starting) throw refuse('container is already in starting state');
    container.starting = true;
    return container;
  }

  markStarted(container: Container, nowNs: bigint): void {
    if (container.sandbox.state !== 'ready') {
      const error = unknown(`sandbox container ${JSON.stringify(container.sandbox.id)} is not running`);
      this.markStartFailed(container, nowNs, error.message);
      throw error;
    }
    container.starting = false;
    container.state = 'running';
    container.startedAtNs = nowNs;
  }

  markStartFailed(container: Container, nowNs: bigint, message: string): void {
    container.starting = false;
    container.state = 'exited';
    container.finishedAtNs = nowNs;
    container.exitCode = startErrorCode;
    container.reason = 'StartError';
    container.message = message;
  }

  /** Returns false when the container had ended before. */
  markExited(container: Container, nowNs: bigint, exitCode: number, reason: string): boolean {
    if (container.state !== 'running' && container.state !== 'unknown') return false;
    container.state = 'exited';
    container.finishedAtNs = nowNs;
    container.exitCode = exitCode;
    container.reason = reason;
    return true;
  }

  /** Returns false when the sandbox was not ready. */
  markSandboxStopped(sandbox: Sandbox): boolean {
    sandbox.ip = '';
    if (sandbox.state !== 'ready') return false;
    sandbox.state = 'notReady';
    return true;
  }

  beginRemove(container: Container): void {
    const refuse = (why: string) => unknown(`failed to set removing state for container ${JSON.stringify(container.id)}: ${why}`);
    if (container.state === 'running') throw refuse('container is still running, to stop first');
    if (container.state === 'unknown') throw refuse('container state is unknown, to stop first');
    if (container.starting) throw refuse("container is in starting state, can't be removed");
    if (container.removing) throw refuse('container is already in removing state');
    container.removing = true;
  }

  deleteContainer(container: Container): void {
    this.containers.delete(container.id);
    container.sandbox.containers.delete(container);
    this.#containerNames.delete(container.name);
  }

  deleteSandbox(sandbox: Sandbox): void {
    for (const container of sandbox.containers) this.deleteContainer(container);
    this.sandboxes.delete(sandbox.id);
    this.#sandboxNames.delete(sandbox.name);
  }

  clear(): void {
    this.sandboxes.clear();
    this.containers.clear();
    this.#sandboxNames.clear();
    this.#containerNames.clear();
    this.#addresses = 0;
  }

  /** Uses 10.64.0.0/10: four million addresses before one repeats. */
  #nextAddress(): string {
    this.#addresses = (this.#addresses + 1) % (1 << 22);
    const host = this.#addresses;
    return `10.${64 + (host >> 16)}.${(host >> 8) & 255}.${host & 255}`;
  }
}

function reserve(names: Map<string, string>, kind: string, name: string, id: string): void {
  const holder = names.get(name);
  if (holder !== undefined) {
    throw unknown(
      `failed to reserve ${kind} name ${JSON.stringify(name)}: name ${JSON.stringify(name)} is reserved for ${JSON.stringify(holder)}`,
    );
  }
  names.set(name, id);
}
