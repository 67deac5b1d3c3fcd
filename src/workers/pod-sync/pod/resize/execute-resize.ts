/**
 * Puts the allocated resources of a pod into force: the runtime updates the running containers; the pod's cgroup and volumes in memory are changed here. The
 * first error ends the resize, and the next sync continues it. Upstream: doPodResizeAction in kuberuntime_manager.go.
 */
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Pod, ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import type { SandboxID } from '../../../../shared/kubernetes/ids.ts';
import { withPodLimits } from '../../../../shared/kubernetes/resizable-resources.ts';
import { resizeDuration } from '../../../../shared/metrics/definitions/resize.ts';
import type { PodCgroupPart, PodCgroupValues } from '../../cgroups/index.ts';
import type { ContainerResize, ResizeActions, ResizedResource, VolumeResize } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { rpcErrorOf, type SandboxResources } from '../pod-runtime.ts';
import { containerResources, sandboxResources, type HostInfo } from '../runtime-config/index.ts';
import { mixedRequirements, withActuated, withPart } from './mixed-resources.ts';
import { podLevelResources } from './pod-level.ts';
import { loweredLimits, lowersPodMemory, memoryProblem, planResize, type MemoryUsage, type ResizeStep } from './plan-resize.ts';

export interface ResizeRequest {
  readonly task: SyncPodTask;
  readonly actions: ResizeActions;
  readonly sandboxID: SandboxID;
  readonly hostInfo: HostInfo;
}

/** Returns why the resize is not complete; undefined when it is. Rejects with Stopped only. */
export async function executeResize(context: TaskContext, request: ResizeRequest): Promise<string | undefined> {
  const startedAtMs = context.clock.monotonic();
  const error = await new ResizeExecution(context, request).run();
  resizeDuration.observe(context.clock.monotonic() - startedAtMs, { success: String(error === undefined) });
  return error;
}

class ResizeExecution {
  readonly #context: TaskContext;
  readonly #request: ResizeRequest;
  readonly #pod: Pod;
  /**
   * The new resources of containers that are updated and not recorded yet, by container. They are recorded only when the pod's cgroup has its value, too: a
   * record ends the resize, and an error after the record, or the end of the kubelet, would leave the cgroup larger than its containers, as upstream's.
   * Until the record, a later sync may repeat an update, which changes nothing.
   */
  readonly #unrecorded = new Map<string, ResourceRequirements>();
  /** For each container, the resources whose allocated amounts are in force now. */
  readonly #inForce = new Map<string, Set<ResizedResource>>();
  /** The same for the pod's own resources. */
  readonly #podInForce = new Set<ResizedResource>();
  /** The resources of the pod's cgroup that the runtime got last. */
  #sandbox: SandboxResources;
  /** The files of cgroup v2 that a pod with MemoryQoS has for memory, with their desired values. */
  #unified: Readonly<Record<string, string>> = {};
  /** The runtime has answered that it does not have the call UpdatePodSandboxResources. */
  #lacksSandboxUpdate = false;

  constructor(context: TaskContext, request: ResizeRequest) {
    this.#context = context;
    this.#request = request;
    this.#pod = request.task.pod;
    this.#sandbox = this.#sandboxOf(withActuated(this.#pod, request.task.actuated ?? { containers: new Map() }));
  }

  async run(): Promise<string | undefined> {
    const { cgroups, channel } = this.#context;
    const { actions } = this.#request;
    try {
      const values = await cgroups.resizableValues(this.#pod);
      this.#unified = Object.fromEntries(values?.unified.map(({ file, text }) => [file, text]) ?? []);
      const problem = memoryProblem(actions, values, await this.#memoryUsage(values));
      if (problem !== null) return problem;
      for (const step of planResize(actions, values)) {
        channel.signal.throwIfAborted();
        await this.#run(step);
      }
      return undefined;
    } catch (err) {
      channel.signal.throwIfAborted();
      return rpcErrorOf(err);
    }
  }

  /** Reads the usage now: an older value may be from before the last allocation. */
  async #memoryUsage(values: PodCgroupValues | null): Promise<MemoryUsage> {
    const { cgroups } = this.#context;
    const lowered = loweredLimits(this.#request.actions);
    const usages = lowered.map(
      async ({ resize }) => [resize.container.name, await cgroups.containerMemoryUsage(this.#pod, resize.id)] as const,
    );
    return {
      pod: lowersPodMemory(values) ? await cgroups.podMemoryUsage(this.#pod) : undefined,
      containers: new Map(await Promise.all(usages)),
    };
  }

  async #run(step: ResizeStep): Promise<void> {
    switch (step.kind) {
      case 'pod':
        return this.#changePod(step.part);
      case 'volume':
        return this.#changeVolume(step.volume);
      case 'container':
        return this.#changeContainer(step.resource, step.resize);
      case 'done':
        return this.#record(step.resource);
      default:
        step satisfies never;
    }
  }

  /** Updates the runtime first, which may refuse. When the kernel then refuses the value, the runtime gets the earlier resources again. */
  async #changePod(part: PodCgroupPart): Promise<void> {
    const { cgroups, logger } = this.#context;
    const before = this.#sandbox;
    const { resources } = this.#sandboxOf(this.#pod);
    const desired = { ...resources, unified: { ...resources.unified, ...this.#unified } };
    const after = { ...before, resources: withPart(before.resources, desired, part) };
    const isAccepted = await this.#updateRuntime(after).catch((err: unknown) => {
      const resource = part === 'memory' ? 'memory' : 'cpu';
      const message = `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected: ${rpcErrorOf(err)}`;
      throw new Error(message, { cause: err });
    });
    try {
      await cgroups.setResizableValue(this.#pod, part);
    } catch (err) {
      if (isAccepted) {
        await this.#updateRuntime(before).catch((failed: unknown) => {
          logger.error({ err: messageOf(failed), part }, 'could not restore the resources of a pod in the runtime');
        });
      }
      throw new Error(`${messageOf(err)}${part === 'memory' ? await this.#usageNow() : ''}`, { cause: err });
    }
    this.#sandbox = after;
  }

  /** Returns the pod's memory usage for the message of a refused limit: the kernel refuses a limit below the usage (EBUSY with cgroup v1). */
  async #usageNow(): Promise<string> {
    const usedBytes = await this.#context.cgroups.podMemoryUsage(this.#pod).catch(() => undefined);
    return usedBytes === undefined ? '' : `, the pod uses ${usedBytes} bytes`;
  }

  /** Returns false when the runtime does not have the call. It is not called again in this sync then. */
  async #updateRuntime(resources: SandboxResources): Promise<boolean> {
    if (this.#lacksSandboxUpdate) return false;
    const { runtime, channel } = this.#context;
    const isAccepted = await runtime.updatePodSandboxResources(this.#request.sandboxID, resources, channel.podEnds);
    this.#lacksSandboxUpdate = !isAccepted;
    return isAccepted;
  }

  async #changeContainer(resource: ResizedResource, { id, container }: ContainerResize): Promise<void> {
    const { runtime, channel, settings, node, allocation } = this.#context;
    const { hostInfo } = this.#request;
    const inForce = new Set(this.#inForce.get(container.name)).add(resource);
    const resources = this.#mixed(container.name, container.resources ?? {}, inForce);
    const input = { pod: this.#pod, container: { ...container, resources }, settings, node, hostInfo };
    const update = containerResources({ ...input, ...allocation.containers?.get(container.name) });
    // A container that is no longer throttled must not keep its earlier memory.high. Upstream does not reset it.
    const unified = settings.cgroupVersion === 2 ? { 'memory.high': 'max', ...update.unified } : update.unified;
    // A runtime that does not answer must not hold up the end of the pod.
    await runtime.updateContainerResources(id, { ...update, unified }, channel.podEnds);
    this.#inForce.set(container.name, inForce);
    this.#unrecorded.set(container.name, resources);
  }

  async #changeVolume({ name, sizeLimit }: VolumeResize): Promise<void> {
    const { volumes, channel, node } = this.#context;
    await volumes.resizeMemoryVolume({ pod: this.#pod, node, volume: name }).catch((err: unknown) => {
      throw new Error(`failed to resize volume ${name}: ${messageOf(err)}`, { cause: err });
    });
    channel.actuated({ containers: new Map(), emptyDirLimits: new Map([[name, sizeLimit]]) });
  }

  /** Returns the container's resources in the middle of the resize (mixed-resources.ts). */
  #mixed(name: string, allocated: ResourceRequirements, inForce: ReadonlySet<ResizedResource>): ResourceRequirements {
    const before = this.#request.task.actuated?.containers.get(name) ?? {};
    return mixedRequirements(before, withPodLimits(allocated, this.#podResources), inForce);
  }

  /** Notifies main that the resource's allocated amounts are in force, in the containers and for the pod. */
  #record(resource: ResizedResource): void {
    if (this.#unrecorded.size > 0) this.#context.channel.actuated({ containers: new Map(this.#unrecorded) });
    this.#unrecorded.clear();
    if (!this.#request.actions.podLevel || !this.#podResources) return;
    this.#podInForce.add(resource);
    const before = this.#request.task.actuated?.podLevel ?? {};
    this.#context.channel.actuated({ containers: new Map(), podLevel: mixedRequirements(before, this.#podResources, this.#podInForce) });
  }

  get #podResources(): ResourceRequirements | undefined {
    return podLevelResources(this.#context, this.#pod);
  }

  #sandboxOf(pod: Pod): SandboxResources {
    const { settings, node } = this.#context;
    return sandboxResources({ pod, settings, node, hostInfo: this.#request.hostInfo });
  }
}
