/**
 * Computes what a pod's containers and cgroup need so that the allocated resources are in force. Pure. Upstream: computePodResizeAction,
 * startingResizedContainer and computePodLevelResourcesResizeAction in kuberuntime_manager.go.
 */
import type { ActuatedResources } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { Container, Pod } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import { memoryLimitsOf } from '../../../../shared/kubernetes/memory-volumes.ts';
import { compareQuantities } from '../../../../shared/kubernetes/quantity.ts';
import {
  isSameResizable,
  resizableResources,
  withPodLimits,
  type ResizableResources,
} from '../../../../shared/kubernetes/resizable-resources.ts';

/** A container that keeps running. */
export interface KeptContainer {
  readonly id: ContainerID;
  readonly container: Container;
}

export interface ContainerResize extends KeptContainer {
  readonly current: ResizableResources;
  readonly desired: ResizableResources;
}

export type ResizedResource = 'memory' | 'cpu';

export interface ResizeActions {
  /** Running containers, those with a decrease first. */
  readonly containers: Readonly<Record<ResizedResource, readonly ContainerResize[]>>;
  /** A container starts with other resources than its last instance had. */
  readonly startsResized: boolean;
  /** The pod's own resources change. */
  readonly podLevel: boolean;
  /** Volumes in memory whose size changes. */
  readonly volumes: { readonly shrinking: readonly VolumeResize[]; readonly growing: readonly VolumeResize[] };
}

export interface VolumeResize {
  readonly name: string;
  readonly sizeLimit: string;
}

export interface ResizeInput {
  readonly pod: Pod;
  /** What is in force. Absent: nothing is resized. */
  readonly actuated?: ActuatedResources;
  /** Gate InPlacePodLevelResourcesVerticalScaling. Default: off. */
  readonly podLevelResizes?: boolean;
}

/** Returns null when the container has what was allocated. */
function containerResize(
  container: Container,
  { pod, actuated, podLevelResizes = false }: ResizeInput,
): { readonly current: ResizableResources; readonly desired: ResizableResources } | null {
  if (!actuated) return null;
  const podResources = podLevelResizes ? pod.spec.resources : undefined;
  const desired = resizableResources(withPodLimits(container.resources ?? {}, podResources));
  const recorded = actuated.containers.get(container.name);
  // Nothing proves another value: the runtime made it from this allocation.
  if (recorded === undefined) return null;
  const known = resizableResources(withPodLimits(recorded, podLevelResizes ? actuated.podLevel : undefined));
  const current = actuated.unknownMemoryRequests?.has(container.name) ? { ...known, memoryRequest: 0 } : known;
  return isSameResizable(current, desired) ? null : { current, desired };
}

/** Whether the container gets what was allocated by a restart, as its resize policy asks. */
export function resizeNeedsRestart(container: Container, input: ResizeInput): boolean {
  const resize = containerResize(container, input);
  return resize !== null && needsRestart(container, resize.current, resize.desired);
}

function needsRestart({ resizePolicy = [] }: Container, current: ResizableResources, desired: ResizableResources): boolean {
  const changes: Readonly<Record<string, boolean>> = {
    memory: current.memoryLimit !== desired.memoryLimit || current.memoryRequest !== desired.memoryRequest,
    cpu: current.cpuLimit !== desired.cpuLimit || current.cpuRequest !== desired.cpuRequest,
  };
  return resizePolicy.some(({ resourceName, restartPolicy }) => changes[resourceName] && restartPolicy === 'RestartContainer');
}

export interface ResizeCandidates {
  readonly kept: readonly KeptContainer[];
  readonly starting: readonly Container[];
}

/** Returns null when nothing is to be resized. */
export function computeResizeActions({ kept, starting }: ResizeCandidates, input: ResizeInput): ResizeActions | null {
  if (!input.actuated) return null;
  const resizes = kept.flatMap(({ id, container }): ContainerResize[] => {
    const resize = containerResize(container, input);
    // One that needs a restart, and may not be restarted yet, keeps what it has.
    return resize && !needsRestart(container, resize.current, resize.desired) ? [{ id, container, ...resize }] : [];
  });
  const actions = {
    containers: { memory: inOrder(resizes, 'memory'), cpu: inOrder(resizes, 'cpu') },
    startsResized: starting.some((container) => containerResize(container, input) !== null),
    podLevel: changesPodLevel(input),
    volumes: volumeResizes(input),
  };
  const { shrinking, growing } = actions.volumes;
  const isNothing = resizes.length + shrinking.length + growing.length === 0 && !actions.startsResized && !actions.podLevel;
  return isNothing ? null : actions;
}

/** A volume without a record has what was allocated. */
function volumeResizes({ pod, actuated }: ResizeInput): ResizeActions['volumes'] {
  const changed = [...memoryLimitsOf(pod.spec)].flatMap(([name, sizeLimit]) => {
    const current = actuated?.emptyDirLimits?.get(name);
    return current === undefined ? [] : [{ name, sizeLimit, change: compareQuantities(sizeLimit, current) }];
  });
  const of = (sign: number) => changed.flatMap(({ name, sizeLimit, change }) => (Math.sign(change) === sign ? [{ name, sizeLimit }] : []));
  return { shrinking: of(-1), growing: of(1) };
}

function changesPodLevel({ pod, actuated, podLevelResizes = false }: ResizeInput): boolean {
  if (!podLevelResizes || !pod.spec.resources) return false;
  return !isSameResizable(resizableResources(actuated?.podLevel), resizableResources(pod.spec.resources));
}

/** A limit decides, and a request only where the limit stays. */
function inOrder(resizes: readonly ContainerResize[], resource: ResizedResource): ContainerResize[] {
  const changeOf = ({ current, desired }: ContainerResize) =>
    resource === 'memory'
      ? desired.memoryLimit - current.memoryLimit || desired.memoryRequest - current.memoryRequest
      : desired.cpuLimit - current.cpuLimit || desired.cpuRequest - current.cpuRequest;
  const changed = resizes.filter((resize) => changeOf(resize) !== 0);
  return [...changed.filter((resize) => changeOf(resize) < 0), ...changed.filter((resize) => changeOf(resize) > 0)];
}
