/**
 * Plans the steps of a resize. At each step the pod's cgroup allows at least what its containers have: the cgroup grows before the containers, and shrinks
 * after them. Memory comes before CPU. A volume in memory shrinks before the memory does, and grows after it. Pure. Upstream: doPodResizeAction in
 * kuberuntime_manager.go.
 */
import type { PodCgroupPart, PodCgroupValue, PodCgroupValues } from '../../cgroups/index.ts';
import type { ContainerResize, ResizeActions, ResizedResource, VolumeResize } from '../compute-pod-actions/index.ts';

export type ResizeStep =
  | { readonly kind: 'pod'; readonly part: PodCgroupPart }
  | { readonly kind: 'volume'; readonly volume: VolumeResize }
  | { readonly kind: 'container'; readonly resource: ResizedResource; readonly resize: ContainerResize }
  /** The allocated amounts of the resource are in force for all containers and for the pod: they can be recorded. */
  | { readonly kind: 'done'; readonly resource: ResizedResource };

/** @param pod null when the pod has no cgroup of its own */
export function planResize({ containers, startsResized, podLevel, volumes }: ResizeActions, pod: PodCgroupValues | null): ResizeStep[] {
  // Both may change the pod's cgroup even if no running container is resized.
  const changesPod = startsResized || podLevel;
  const volumeSteps = (resizes: readonly VolumeResize[]) => resizes.map((volume): ResizeStep => ({ kind: 'volume', volume }));
  return [
    ...volumeSteps(volumes.shrinking),
    ...stepsOf('memory', ['memory']),
    ...volumeSteps(volumes.growing),
    ...stepsOf('cpu', ['quota', 'shares']),
  ];

  /** @param parts the limit first: the limit grows before the request, and shrinks after it */
  function stepsOf(resource: ResizedResource, parts: readonly PodCgroupPart[]): ResizeStep[] {
    const resizes = containers[resource];
    if (resizes.length === 0 && !changesPod) return [];
    const growing = parts.filter((part) => pod && changeOf(pod, part) > 0);
    const shrinking = parts.filter((part) => pod && changeOf(pod, part) < 0).toReversed();
    return [
      ...growing.map((part): ResizeStep => ({ kind: 'pod', part })),
      ...resizes.map((resize): ResizeStep => ({ kind: 'container', resource, resize })),
      ...shrinking.map((part): ResizeStep => ({ kind: 'pod', part })),
      { kind: 'done', resource },
    ];
  }
}

/**
 * Returns whether the part of the pod's cgroup grows (1), shrinks (−1) or stays (0). Memory protection and throttling (`unified`) are written together with
 * the memory limit. They decide only if the limit stays, as when only a request changes; upstream leaves them unchanged then.
 */
function changeOf(pod: PodCgroupValues, part: PodCgroupPart): number {
  const change = compare(pod[part]);
  if (part !== 'memory' || change !== 0) return change;
  return Math.max(...pod.unified.map(compare), 0) || Math.min(...pod.unified.map(compare), 0);
}

/** Returns 1 for a growing value, −1 for a shrinking one. A value that the pod does not set stays: upstream removes no limit either. */
function compare({ current, desired = current }: PodCgroupValue): number {
  return current === desired ? 0 : desired > current ? 1 : -1;
}

export interface MemoryUsage {
  /** Bytes; undefined when they can't be read. */
  readonly pod: number | undefined;
  readonly containers: ReadonlyMap<string, number | undefined>;
}

/** Returns the containers whose memory limit a resize lowers, with the new limit. */
export function loweredLimits({ containers }: ResizeActions): { readonly resize: ContainerResize; readonly limitBytes: number }[] {
  return containers.memory.flatMap((resize) => {
    const { current, desired } = resize;
    const isLowered = desired.memoryLimit > 0 && (current.memoryLimit === 0 || desired.memoryLimit < current.memoryLimit);
    return isLowered ? [{ resize, limitBytes: desired.memoryLimit }] : [];
  });
}

export function lowersPodMemory(pod: PodCgroupValues | null): boolean {
  return pod !== null && compare(pod.memory) < 0;
}

/**
 * Returns why memory limits can't be lowered now, in upstream's words (validateMemoryResizeAction), or null. With a limit below the usage, the kernel would
 * kill processes, or refuse the limit.
 */
export function memoryProblem(actions: ResizeActions, pod: PodCgroupValues | null, usage: MemoryUsage): string | null {
  const problems: string[] = [];
  const podLimit = pod?.memory.desired ?? 0;
  if (lowersPodMemory(pod)) {
    if (usage.pod === undefined) problems.push('missing pod memory usage');
    else if (usage.pod >= podLimit) problems.push(`attempting to set pod memory limit (${podLimit}) below current usage (${usage.pod})`);
  }
  for (const { resize, limitBytes } of loweredLimits(actions)) {
    const { name } = resize.container;
    const used = usage.containers.get(name);
    if (used === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
    else if (used >= limitBytes) {
      problems.push(`attempting to set container ${JSON.stringify(name)} memory limit (${limitBytes}) below current usage (${used})`);
    }
  }
  if (problems.length === 0) return null;
  return `cannot decrease memory limits: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`;
}
