/**
 * A minimal CRI client that only makes the runtime calls that every kubelet must make. Its times are the floors for the kubelet's.
 */
import { CriClient } from '../../src/shared/cri/client.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import { forEachConcurrently } from './for-each-concurrently.ts';
import { PodConfigs, type BareMount } from './pod-configs.ts';

export interface StartedPod {
  readonly name: string;
  readonly sandboxID: string;
  readonly containerID: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** In a burst on a slow machine one call may take seconds. */
const limits = { deadlineMs: 120_000 };

export class CriDriver {
  readonly #client: CriClient;
  readonly #image: string;
  readonly #command: readonly string[];
  readonly #configs = new PodConfigs();

  constructor(endpoint: string, image: string, command: readonly string[] = []) {
    this.#client = new CriClient({ endpoint });
    this.#image = image;
    this.#command = command;
  }

  /**
   * Makes the three calls that every kubelet must make: RunPodSandbox, CreateContainer, StartContainer. `mounts` are additional read-only
   * mounts, which are prepared concurrently with the sandbox.
   */
  async startPod(name: string, mounts: Promise<readonly BareMount[]> = Promise.resolve([])): Promise<StartedPod> {
    const { runtime } = this.#client;
    const startMs = monotonicMs();
    const config = this.#configs.sandbox(name);
    const { podSandboxId } = await runtime.call('runPodSandbox', { config }, limits);
    const container = this.#configs.container(name, { image: this.#image, command: this.#command, mounts: await mounts });
    const { containerId } = await runtime.call('createContainer', { podSandboxId, config: container, sandboxConfig: config }, limits);
    await runtime.call('startContainer', { containerId }, limits);
    return { name, sandboxID: podSandboxId, containerID: containerId, startMs, endMs: monotonicMs() };
  }

  /** Stops the container and the sandbox. Returns the milliseconds. */
  async stopPod({ sandboxID, containerID }: StartedPod): Promise<number> {
    const { runtime } = this.#client;
    const startMs = monotonicMs();
    await runtime.call('stopContainer', { containerId: containerID, timeout: 5n }, limits);
    await runtime.call('stopPodSandbox', { podSandboxId: sandboxID }, limits);
    return monotonicMs() - startMs;
  }

  /** Starts all pods, `parallelism` at a time. Returns them in the order in which they started. */
  async startPods(names: readonly string[], parallelism: number): Promise<readonly StartedPod[]> {
    const started: StartedPod[] = [];
    await forEachConcurrently(names, parallelism, async (name) => void started.push(await this.startPod(name)));
    return started;
  }

  /** Requests both lists concurrently, as bytes, as a relist does. */
  async listPods(): Promise<{ readonly ms: number; readonly bytes: number }> {
    const began = monotonicMs();
    const [sandboxes, containers] = await this.listPodsRaw();
    return { ms: monotonicMs() - began, bytes: sandboxes.length + containers.length };
  }

  listPodsRaw(): Promise<[Buffer, Buffer]> {
    const { runtime } = this.#client;
    return Promise.all([runtime.callRaw('listPodSandbox', {}, limits), runtime.callRaw('listContainers', {}, limits)]);
  }

  /** Returns each container's start time in wall-clock ms, by pod name. */
  async startTimes(): Promise<ReadonlyMap<string, number>> {
    const { runtime } = this.#client;
    const { containers } = await runtime.call('listContainers', {}, limits);
    const times = new Map<string, number>();
    for (const { id, labels } of containers) {
      const { status } = await runtime.call('containerStatus', { containerId: id }, limits);
      if (status && status.startedAt > 0n) times.set(labels['io.kubernetes.pod.name'] ?? id, Number(status.startedAt) / 1e6);
    }
    return times;
  }

  async runningContainers(): Promise<number> {
    const { containers } = await this.#client.runtime.call('listContainers', { filter: { state: { state: 1 } } }, limits);
    return containers.length;
  }

  async pull(image: string): Promise<void> {
    await this.#client.images.call('pullImage', { image: { image } }, limits);
  }

  /** Stops and removes every pod, eight at a time. */
  async removeAll(): Promise<void> {
    const { runtime } = this.#client;
    const { items } = await runtime.call('listPodSandbox', {}, limits);
    await forEachConcurrently(items, 8, async ({ id }) => {
      await runtime.call('stopPodSandbox', { podSandboxId: id }, limits);
      await runtime.call('removePodSandbox', { podSandboxId: id }, limits);
    });
  }

  /** Must be called after the pods are removed. */
  async close(): Promise<void> {
    this.#client.close();
    await this.#configs.remove();
  }
}
