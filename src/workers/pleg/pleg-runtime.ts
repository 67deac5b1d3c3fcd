/**
 * The runtime calls of the pleg thread, each with a deadline. All of them only read. The thread depends on this interface, which tests
 * replace by a fake.
 */
import type { RuntimeInfo } from '../../shared/contracts/pleg.ts';
import { CriClient, type CallLimits } from '../../shared/cri/client.ts';
import { isCriNotFound, isUnimplemented } from '../../shared/cri/cri-error.ts';
import { countRuntimeOperation } from '../../shared/cri/count-calls.ts';
import { decodeEvent, type RuntimeEvent } from '../../shared/cri/decode-event.ts';
import { CgroupDriver } from '../../shared/cri/generated/cri-v1.ts';
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus, RuntimeConfigResponse } from '../../shared/cri/generated/cri-v1.ts';
import { criLosingSupport } from '../../shared/metrics/definitions/runtime-operations.ts';
import { podUIDLabel } from '../../shared/kubernetes/annotations.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { listContainersBySandbox, listSandboxesByState, type KnownContainers } from './relist/list-portions.ts';
import { RawList } from './relist/raw-list.ts';

export interface PlegRuntime {
  /** listSandboxes and listContainers resolve with the complete lists as bytes, in one or several messages. */
  listSandboxes(signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** @param knownIn the containers to request one by one when a sandbox has too many for a message (list-portions.ts) */
  listContainers(signal: AbortSignal, knownIn: KnownContainers): Promise<readonly Uint8Array[]>;
  /** Lists one pod's sandboxes and containers. */
  listPod(
    podUID: PodUID,
    signal: AbortSignal,
  ): Promise<{ readonly sandboxes: readonly PodSandbox[]; readonly containers: readonly Container[] }>;
  /** Resolves with null when the runtime has no such sandbox or container. */
  sandboxStatus(id: string, signal: AbortSignal): Promise<PodSandboxStatus | null>;
  containerStatus(id: string, signal: AbortSignal): Promise<ContainerStatus | null>;
  /** Resolves with the `info` of a sandbox's verbose status. */
  sandboxInfo(id: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Ends with the signal, or when the runtime ends the stream. */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
  runtimeInfo(signal: AbortSignal): Promise<RuntimeInfo>;
  close(): void;
}

export interface CriPlegRuntimeOptions {
  readonly endpoint: string;
  /** runtimeRequestTimeout */
  readonly requestTimeoutMs: number;
  readonly logger: Logger;
}

/**
 * The deadline of an inspection's call, far below runtimeRequestTimeout (2 min): runtimes return a status within a millisecond, and a
 * sync of the pod waits for the result.
 */
const inspectionDeadlineMs = 10_000;

export class CriPlegRuntime implements PlegRuntime {
  readonly #cri: CriClient;
  readonly #sandboxes: RawList;
  readonly #containers: RawList;
  /** The last argument of listContainers, for the list in portions. */
  #knownIn: KnownContainers = () => [];
  readonly #requestTimeoutMs: number;
  readonly #inspectionDeadlineMs: number;
  /** The name and version of a runtime that has no RuntimeConfig. A newer one may have it. */
  #withoutConfig = '';

  constructor({ endpoint, requestTimeoutMs, logger }: CriPlegRuntimeOptions) {
    this.#cri = new CriClient({ endpoint, onCall: countRuntimeOperation });
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#inspectionDeadlineMs = Math.min(requestTimeoutMs, inspectionDeadlineMs);
    const { runtime } = this.#cri;
    const limits = (signal: AbortSignal) => ({ deadlineMs: requestTimeoutMs, signal });
    this.#sandboxes = new RawList({
      listCall: 'ListPodSandbox',
      streamCall: 'StreamPodSandboxes',
      fetchUnary: (signal) => runtime.callRaw('listPodSandbox', {}, limits(signal)),
      fetchStream: (signal) => runtime.streamRaw('streamPodSandboxes', {}, limits(signal)),
      fetchPortions: (signal) => listSandboxesByState((filter) => runtime.callRaw('listPodSandbox', { filter }, limits(signal))),
      logger,
    });
    this.#containers = new RawList({
      listCall: 'ListContainers',
      streamCall: 'StreamContainers',
      fetchUnary: (signal) => runtime.callRaw('listContainers', {}, limits(signal)),
      fetchStream: (signal) => runtime.streamRaw('streamContainers', {}, limits(signal)),
      fetchPortions: async (signal) =>
        listContainersBySandbox(
          await this.listSandboxes(signal),
          (filter) => runtime.callRaw('listContainers', { filter }, limits(signal)),
          this.#knownIn,
        ),
      logger,
    });
  }

  listSandboxes(signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#sandboxes.fetch(signal);
  }

  listContainers(signal: AbortSignal, knownIn: KnownContainers): Promise<readonly Uint8Array[]> {
    this.#knownIn = knownIn;
    return this.#containers.fetch(signal);
  }

  async listPod(podUID: PodUID, signal: AbortSignal): ReturnType<PlegRuntime['listPod']> {
    const filter = { labelSelector: { [podUIDLabel]: podUID } };
    const limits = { deadlineMs: this.#inspectionDeadlineMs, signal };
    const [sandboxes, containers] = await Promise.all([
      this.#cri.runtime.call('listPodSandbox', { filter }, limits),
      this.#cri.runtime.call('listContainers', { filter }, limits),
    ]);
    return { sandboxes: sandboxes.items, containers: containers.containers };
  }

  async sandboxStatus(id: string, signal: AbortSignal): Promise<PodSandboxStatus | null> {
    const limits = { deadlineMs: this.#inspectionDeadlineMs, signal };
    return statusOf('PodSandboxStatus', id, this.#cri.runtime.call('podSandboxStatus', { podSandboxId: id }, limits));
  }

  async sandboxInfo(id: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const limits = { deadlineMs: this.#inspectionDeadlineMs, signal };
    const { info } = await this.#cri.runtime.call('podSandboxStatus', { podSandboxId: id, verbose: true }, limits);
    return info;
  }

  async containerStatus(id: string, signal: AbortSignal): Promise<ContainerStatus | null> {
    const limits = { deadlineMs: this.#inspectionDeadlineMs, signal };
    return statusOf('ContainerStatus', id, this.#cri.runtime.call('containerStatus', { containerId: id }, limits));
  }

  async *events(signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
    for await (const bytes of this.#cri.runtime.streamRaw('getContainerEvents', {}, { signal })) yield decodeEvent(bytes);
  }

  async runtimeInfo(signal: AbortSignal): Promise<RuntimeInfo> {
    const limits = { deadlineMs: this.#requestTimeoutMs, signal };
    const { runtime } = this.#cri;
    const [version, { status, runtimeHandlers, features: runtimeFeatures }] = await Promise.all([
      runtime.call('version', {}, limits),
      runtime.call('status', {}, limits),
    ]);
    const config = await this.#config(`${version.runtimeName} ${version.runtimeVersion}`, limits);
    // The label is the version of Kubernetes in which upstream stops supporting a runtime without RuntimeConfig (getCgroupDriverFromCRI of
    // cmd/kubelet/app/server.go).
    if (config) criLosingSupport.remove({ version: '1.38.0' });
    else criLosingSupport.set(1, { version: '1.38.0' });
    if (!status) throw new Error('Status: the reply of the runtime has no status');
    return {
      runtimeName: version.runtimeName,
      runtimeVersion: version.runtimeVersion,
      runtimeApiVersion: version.runtimeApiVersion,
      conditions: status.conditions.map(({ type, status: isTrue, reason, message }) => ({ type, status: isTrue, reason, message })),
      handlers: runtimeHandlers.map(({ name, features }) => ({
        name,
        recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: features?.userNamespaces ?? false,
      })),
      ...(runtimeFeatures ? { features: runtimeFeatures } : {}),
      cgroupDriver: config?.linux ? (config.linux.cgroupDriver === CgroupDriver.CGROUPFS ? 'cgroupfs' : 'systemd') : null,
    };
  }

  /** A runtime without this call is not called again: each time counts as an error in metrics and traces. */
  async #config(runtime: string, limits: CallLimits): Promise<RuntimeConfigResponse | null> {
    if (runtime === this.#withoutConfig) return null;
    try {
      return await this.#cri.runtime.call('runtimeConfig', {}, limits);
    } catch (err) {
      if (!isUnimplemented(err)) throw err;
      this.#withoutConfig = runtime;
      return null;
    }
  }

  close(): void {
    this.#cri.close();
  }
}

/** Resolves with null for an item that was removed after its list. */
async function statusOf<T>(call: string, id: string, reply: Promise<{ readonly status: T | undefined }>): Promise<T | null> {
  try {
    const { status } = await reply;
    if (!status) throw new Error(`${call}: the reply of the runtime for ${id} has no status`);
    return status;
  } catch (err) {
    if (isCriNotFound(err)) return null;
    throw err;
  }
}
