/**
 * Computes an in-place resize: the changes after which a pod's containers, cgroup and volumes in memory have the allocated resources. Pure. Upstream:
 * computePodResizeAction, startingResizedContainer and computePodLevelResourcesResizeAction in kuberuntime_manager.go.
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
  /** The running containers whose resource changes, those with a decrease first. */
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
  /** The resources that are in force. Absent when they are the allocated ones: nothing is resized. */
  readonly actuated?: ActuatedResources;
  /** Gate InPlacePodLevelResourcesVerticalScaling. Default: off. */
  readonly podLevelResizes?: boolean;
}

/** Returns null when the allocated resources of the container are in force. */
function containerResize(
  container: Container,
  { pod, actuated, podLevelResizes = false }: ResizeInput,
): { readonly current: ResizableResources; readonly desired: ResizableResources } | null {
  if (!actuated) return null;
  const podResources = podLevelResizes ? pod.spec.resources : undefined;
  const desired = resizableResources(withPodLimits(container.resources ?? {}, podResources));
  const recorded = actuated.containers.get(container.name);
  // Without a record, the runtime has made the container from this allocation.
  if (recorded === undefined) return null;
  const known = resizableResources(withPodLimits(recorded, podLevelResizes ? actuated.podLevel : undefined));
  const current = actuated.unknownMemoryRequests?.has(container.name) ? { ...known, memoryRequest: 0 } : known;
  return isSameResizable(current, desired) ? null : { current, desired };
}

/** Returns whether the container must restart to get its allocated resources, as its resize policy asks. */
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

/** The containers of a pod after its other actions: those that keep running, and those that start. */
export interface ResizeCandidates {
  readonly kept: readonly KeptContainer[];
  readonly starting: readonly Container[];
}

/** Returns null when nothing is to be resized. */
export function computeResizeActions({ kept, starting }: ResizeCandidates, input: ResizeInput): ResizeActions | null {
  if (!input.actuated) return null;
  const resizes = kept.flatMap(({ id, container }): ContainerResize[] => {
    const resize = containerResize(container, input);
    // A container that needs a restart for its resize, and may not restart yet, keeps its current resources.
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

/** A volume without a record has its allocated size. */
function volumeResizes({ pod, actuated }: ResizeInput): ResizeActions['volumes'] {
  const changed = [...memoryLimitsOf(pod.spec)].flatMap(([name, sizeLimit]) => {
    const current = actuated?.emptyDirLimits?.get(name);
    return current === undefined ? [] : [{ name, sizeLimit, change: compareQuantities(sizeLimit, current) }];
  });
  const withSign = (sign: number) =>
    changed.flatMap(({ name, sizeLimit, change }) => (Math.sign(change) === sign ? [{ name, sizeLimit }] : []));
  return { shrinking: withSign(-1), growing: withSign(1) };
}

function changesPodLevel({ pod, actuated, podLevelResizes = false }: ResizeInput): boolean {
  if (!podLevelResizes || !pod.spec.resources) return false;
  return !isSameResizable(resizableResources(actuated?.podLevel), resizableResources(pod.spec.resources));
}

/** Returns the containers whose resource changes, those with a decrease first. The limit's change decides; if the limit stays, the request's. */
function inOrder(resizes: readonly ContainerResize[], resource: ResizedResource): ContainerResize[] {
  const changeOf = ({ current, desired }: ContainerResize) =>
    resource === 'memory'
      ? desired.memoryLimit - current.memoryLimit || desired.memoryRequest - current.memoryRequest
      : desired.cpuLimit - current.cpuLimit || desired.cpuRequest - current.cpuRequest;
  const changed = resizes.filter((resize) => changeOf(resize) !== 0);
  return [...changed.filter((resize) => changeOf(resize) < 0), ...changed.filter((resize) => changeOf(resize) > 0)];
}
