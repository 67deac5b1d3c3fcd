/**
 * The simulated runtime without its sockets. It combines state machine, images, processes and events, and has the operations that several
 * calls share (stopping a sandbox, removing a container). The calls are in `calls/`, the gRPC server in `server.ts`.
 */
import type { Clock } from '../../src/shared/time/clock.ts';
import { EventHub } from './event-hub.ts';
import { RuntimeHistory } from './history.ts';
import { sigkillExitCode } from './image-behaviour.ts';
import { ImageStore } from './image-store.ts';
import { ListReplies } from './lists.ts';
import { Machine, type Container, type Sandbox } from './machine.ts';
import { toContainerStatus, toPodSandboxStatus } from './messages.ts';
import { applyOptions, type RuntimeOptions, type RuntimeOptionsInput } from './options.ts';
import { Processes } from './processes.ts';
import type { Random } from './shuffle.ts';

const eventTypes = { created: 0, started: 1, stopped: 2, deleted: 3 } as const;

export class SimulatedRuntime {
  readonly machine = new Machine();
  readonly images = new ImageStore();
  readonly lists: ListReplies;
  readonly events: EventHub;
  readonly processes: Processes;
  readonly history: RuntimeHistory;
  readonly clock: Clock;
  readonly random: Random;
  options: RuntimeOptions;

  constructor(options: RuntimeOptions, clock: Clock, random: Random = Math.random) {
    this.options = options;
    this.clock = clock;
    this.random = random;
    this.lists = new ListReplies(random);
    this.events = new EventHub(random);
    this.history = new RuntimeHistory(() => clock.monotonic());
    this.processes = new Processes(clock, (container, exitCode, reason) => this.#onExit(container, exitCode, reason));
    this.#addImages();
  }

  /** Returns the wall clock in ns, the unit of CRI timestamps. */
  nowNs(): bigint {
    return BigInt(Math.round(this.clock.now() * 1000)) * 1000n;
  }

  configure(given: RuntimeOptionsInput): void {
    this.options = applyOptions(this.options, given);
    this.#addImages();
  }

  /** Removes all sandboxes, containers and events, and all images except the initial ones. */
  reset(): void {
    this.processes.clear();
    this.machine.clear();
    this.events.clear();
    this.images.clear();
    this.history.clear();
    this.#addImages();
  }

  publishEvent(type: keyof typeof eventTypes, id: string, sandbox: Sandbox): void {
    if (!this.options.events) return;
    const known = this.machine.sandboxes.has(sandbox.id);
    this.events.publish({
      containerId: id,
      containerEventType: eventTypes[type],
      createdAt: this.nowNs(),
      podSandboxStatus: known ? toPodSandboxStatus(sandbox, this.random) : undefined,
      containersStatuses: [...sandbox.containers].map((container) => this.statusOf(container)),
    });
  }

  statusOf(container: Container): ReturnType<typeof toContainerStatus> {
    return toContainerStatus(container, this.images.resolve(container.imageID) ?? null, this.random);
  }

  /** Kills the sandbox's containers and releases its address. Idempotent. */
  stopSandbox(sandbox: Sandbox): void {
    for (const container of sandbox.containers) {
      if (container.state === 'running' || container.state === 'unknown') this.processes.end(container, sigkillExitCode, '');
    }
    if (this.machine.markSandboxStopped(sandbox)) this.publishEvent('stopped', sandbox.id, sandbox);
  }

  removeContainer(container: Container): void {
    this.machine.deleteContainer(container);
    this.history.add('removed', container);
    this.publishEvent('deleted', container.id, container.sandbox);
  }

  removeSandbox(sandbox: Sandbox): void {
    this.stopSandbox(sandbox);
    for (const container of sandbox.containers) this.removeContainer(container);
    this.machine.deleteSandbox(sandbox);
    this.publishEvent('deleted', sandbox.id, sandbox);
  }

  /** Returns the IDs and names by which a fault can match a request: of container, sandbox, pod and image. */
  requestSubjects(request: object): readonly string[] {
    const { podSandboxId, containerId, config, image } = request as Partial<{
      podSandboxId: string;
      containerId: string;
      config: { metadata?: { name: string; uid?: string }; image?: { image: string; userSpecifiedImage: string } };
      image: { image: string };
    }>;
    const container = containerId === undefined ? undefined : this.machine.containers.get(containerId);
    const sandbox = container?.sandbox ?? (podSandboxId === undefined ? undefined : this.machine.sandboxes.get(podSandboxId));
    const pod = sandbox?.config.metadata;
    return [
      containerId,
      podSandboxId,
      config?.metadata?.name,
      config?.metadata?.uid,
      config?.image?.userSpecifiedImage,
      config?.image?.image,
      image?.image,
      container?.config.metadata?.name,
      pod?.name,
      pod?.uid,
    ].filter((subject) => subject !== undefined && subject !== '') as string[];
  }

  #onExit(container: Container, exitCode: number, reason: string): void {
    if (!this.machine.markExited(container, this.nowNs(), exitCode, reason)) return;
    this.history.add('ended', container);
    this.publishEvent('stopped', container.id, container.sandbox);
  }

  #addImages(): void {
    const { images, imageSizeBytes } = this.options;
    for (const { name, sizeBytes = imageSizeBytes, pinned = false } of images) this.images.add(name, sizeBytes, pinned);
  }
}
