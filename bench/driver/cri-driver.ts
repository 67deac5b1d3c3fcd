/**
 * A bare CRI driver: does to the runtime what a kubelet must do, and nothing else. Its times are the floors that the kubelet's are
 * held against.
 */
import { CriClient } from '../../src/shared/cri/client.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import { forEachConcurrently } from './lanes.ts';
import { PodConfigs, type BareMount } from './pod-configs.ts';

export interface StartedPod {
  readonly name: string;
  readonly sandboxID: string;
  readonly containerID: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** A burst on a slow machine: one call takes seconds. */
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
   * Sandbox, container, start: the three calls that no kubelet can leave out. `mounts` are what the container needs to be there beside what
   * every container has, made while the sandbox is; all is read-only in the pod.
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

  /** Tells the container to end, waits for that, and takes the sandbox down: what no kubelet can leave out. Milliseconds. */
  async stopPod({ sandboxID, containerID }: StartedPod): Promise<number> {
    const { runtime } = this.#client;
    const startMs = monotonicMs();
    await runtime.call('stopContainer', { containerId: containerID, timeout: 5n }, limits);
    await runtime.call('stopPodSandbox', { podSandboxId: sandboxID }, limits);
    return monotonicMs() - startMs;
  }

  /** All of them, so many at a time; in the order in which they were running. */
  async startPods(names: readonly string[], parallelism: number): Promise<readonly StartedPod[]> {
    const started: StartedPod[] = [];
    await forEachConcurrently(names, parallelism, async (name) => void started.push(await this.startPod(name)));
    return started;
  }

  /** Both lists at once, as bytes, as a relist asks for them. */
  async listPods(): Promise<{ readonly ms: number; readonly bytes: number }> {
    const began = monotonicMs();
    const [sandboxes, containers] = await this.listPodsRaw();
    return { ms: monotonicMs() - began, bytes: sandboxes.length + containers.length };
  }

  listPodsRaw(): Promise<[Buffer, Buffer]> {
    const { runtime } = this.#client;
    return Promise.all([runtime.callRaw('listPodSandbox', {}, limits), runtime.callRaw('listContainers', {}, limits)]);
  }

  /** Every container's start, as wall-clock ms, by pod name. */
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

  /** Once its pods are gone. */
  async close(): Promise<void> {
    this.#client.close();
    await this.#configs.remove();
  }
}
