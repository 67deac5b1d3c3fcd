/**
 * An in-memory runtime for the pleg thread. It lists and returns its items immediately, unless a test makes a call fail, hang or wait.
 * Lists have a different order on each call, like containerd's.
 */
import type { RuntimeInfo } from '../../../src/shared/contracts/pleg.ts';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import * as cri from '../../../src/shared/cri/generated/cri-v1.ts';
import * as names from '../../../src/shared/kubernetes/annotations.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { PlegRuntime } from '../../../src/workers/pleg/pleg-runtime.ts';

export const running = 1;
export const exited = 2;
type RawState = 0 | 1 | 2 | 3;

interface FakeContainer {
  readonly id: string;
  readonly podUID: string;
  readonly sandboxID: string;
  state: RawState;
  exitCode: number;
  reason?: string;
  readonly annotations: Record<string, string>;
}

export class FakePlegRuntime implements PlegRuntime {
  readonly sandboxes = new Map<string, { readonly podUID: string; state: 0 | 1 }>();
  readonly containers = new Map<string, FakeContainer>();
  /** Each call with its argument. */
  readonly calls: string[] = [];
  /** What a call waits for before its reply, keyed by the call, or by call and ID (`containerStatus c1`). */
  readonly blockedCalls = new Map<string, Promise<void>>();
  /** The code of a failing call, keyed by the call, or by call and ID. */
  readonly failures = new Map<string, number>();
  /** The runtime's event stream: ends it, and sends events on it. */
  #stream = Promise.withResolvers<cri.ContainerEventResponse | null>();
  closed = false;

  /** Adds a pod with one ready sandbox, `<uid>-s`, and running containers by name: `<uid>-<name>`. */
  addPod(uid: string, ...containers: string[]): PodUID {
    this.sandboxes.set(`${uid}-s`, { podUID: uid, state: 0 });
    for (const name of containers) this.addContainer(uid, name);
    return uid as PodUID;
  }

  addContainer(uid: string, name: string, state: RawState = running, annotations: Record<string, string> = {}): FakeContainer {
    const id = `${uid}-${name}`;
    const container: FakeContainer = { id, podUID: uid, sandboxID: `${uid}-s`, state, exitCode: 0, annotations };
    this.containers.set(id, container);
    return container;
  }

  exit(id: string, exitCode: number, reason = ''): void {
    Object.assign(this.containers.get(id)!, { state: exited, exitCode, reason });
  }

  /** Makes the next call with this name (and ID) wait until the returned function is called. */
  block(key: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.blockedCalls.set(key, promise);
    return () => {
      this.blockedCalls.delete(key);
      resolve();
    };
  }

  async listSandboxes(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const items = this.#sandboxItems();
    await this.#call('listSandboxes', '', signal);
    return [cri.ListPodSandboxResponse.encode({ items }).finish()];
  }

  /** In two messages, like a streamed list. */
  async listContainers(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const containers = this.#containerItems();
    await this.#call('listContainers', '', signal);
    const encode = (part: cri.Container[]) => cri.ListContainersResponse.encode({ containers: part }).finish();
    return [encode(containers.slice(0, 1)), encode(containers.slice(1))];
  }

  async listPod(podUID: PodUID, signal: AbortSignal): ReturnType<PlegRuntime['listPod']> {
    const sandboxes = this.#sandboxItems().filter(({ metadata }) => metadata?.uid === podUID);
    const containers = this.#containerItems().filter(({ labels }) => labels[names.podUIDLabel] === podUID);
    await this.#call('listPod', podUID, signal);
    return { sandboxes, containers };
  }

  async sandboxStatus(id: string, signal: AbortSignal): Promise<cri.PodSandboxStatus | null> {
    await this.#call('sandboxStatus', id, signal);
    const sandbox = this.sandboxes.get(id);
    const ip = sandbox?.state === 0 ? '10.0.0.1' : '';
    return sandbox
      ? cri.PodSandboxStatus.fromPartial({ id, metadata: metadataOf(sandbox.podUID), state: sandbox.state, createdAt, network: { ip } })
      : null;
  }

  async sandboxInfo(): Promise<Readonly<Record<string, string>>> {
    return {};
  }

  async containerStatus(id: string, signal: AbortSignal): Promise<cri.ContainerStatus | null> {
    await this.#call('containerStatus', id, signal);
    const container = this.containers.get(id);
    return container ? statusOf(container) : null;
  }

  async *events(signal: AbortSignal): AsyncGenerator<cri.ContainerEventResponse> {
    await this.#call('events', '', signal);
    for (;;) {
      const event = await Promise.race([this.#stream.promise, aborted(signal)]);
      this.#stream = Promise.withResolvers();
      if (!event) return;
      yield event;
    }
  }

  sendEvent(event: cri.DeepPartial<cri.ContainerEventResponse> | null): void {
    this.#stream.resolve(event && cri.ContainerEventResponse.fromPartial(event));
  }

  async runtimeInfo(signal: AbortSignal): Promise<RuntimeInfo> {
    await this.#call('runtimeInfo', '', signal);
    return { runtimeName: 'fake', runtimeVersion: '1', runtimeApiVersion: 'v1', conditions: [], handlers: [], cgroupDriver: null };
  }

  close(): void {
    this.closed = true;
  }

  async #call(call: string, id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const key = id === '' ? call : `${call} ${id}`;
    this.calls.push(key);
    const blocked = this.blockedCalls.get(key) ?? this.blockedCalls.get(call);
    if (blocked) await Promise.race([blocked, aborted(signal)]);
    const failure = this.failures.get(key) ?? this.failures.get(call) ?? this.failures.get('*');
    if (failure !== undefined) throw new CriError(call, failure, failure === grpcCode.UNAVAILABLE ? 'nobody serves' : 'no');
  }

  #sandboxItems(): cri.PodSandbox[] {
    return shuffled(
      Array.from(this.sandboxes, ([id, { podUID, state }]) =>
        cri.PodSandbox.fromPartial({ id, metadata: metadataOf(podUID), state, createdAt }),
      ),
    );
  }

  #containerItems(): cri.Container[] {
    return shuffled(Array.from(this.containers.values(), (container) => cri.Container.fromPartial(toItem(container))));
  }
}

/** The creation time of every item, in nanoseconds. */
const createdAt = 1_767_225_600_000_000_000n;

function metadataOf(uid: string) {
  return { name: `name-${uid}`, namespace: 'default', uid };
}

function toItem({ id, podUID, sandboxID, state, annotations }: FakeContainer) {
  const labels = { [names.podUIDLabel]: podUID, [names.podNameLabel]: `name-${podUID}`, [names.podNamespaceLabel]: 'default' };
  return { id, podSandboxId: sandboxID, metadata: { name: id.slice(podUID.length + 1) }, state, createdAt, labels, annotations };
}

function statusOf(container: FakeContainer): cri.ContainerStatus {
  const { id, metadata, state, labels, annotations } = toItem(container);
  return cri.ContainerStatus.fromPartial({
    id,
    metadata,
    state,
    createdAt,
    labels,
    annotations,
    exitCode: container.exitCode,
    reason: container.reason ?? '',
  });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
}

let listCount = 0;
function shuffled<T>(items: T[]): T[] {
  listCount += 1;
  return items.map((_, index) => items[(index + listCount) % items.length]!);
}
