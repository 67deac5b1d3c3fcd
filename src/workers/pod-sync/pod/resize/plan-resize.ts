/**
 * Plans the steps of a resize. At each of them the pod's cgroup allows at least what its containers have: it grows before them, and shrinks after them.
 * Memory comes before CPU. A volume in memory shrinks before the memory does, and grows after it. Pure. Upstream: doPodResizeAction in kuberuntime_manager.go.
 */
import type { PodCgroupPart, PodCgroupValue, PodCgroupValues } from '../../cgroups/index.ts';
import type { ContainerResize, ResizeActions, ResizedResource, VolumeResize } from '../compute-pod-actions/index.ts';

export type ResizeStep =
  | { readonly kind: 'pod'; readonly part: PodCgroupPart }
  | { readonly kind: 'volume'; readonly volume: VolumeResize }
  | { readonly kind: 'container'; readonly resource: ResizedResource; readonly resize: ContainerResize }
  /** All of the resource is in force. */
  | { readonly kind: 'done'; readonly resource: ResizedResource };

/** @param pod null when the pod has no cgroup of its own */
export function planResize({ containers, startsResized, podLevel, volumes }: ResizeActions, pod: PodCgroupValues | null): ResizeStep[] {
  const changesPod = startsResized || podLevel;
  const volumeSteps = (resizes: readonly VolumeResize[]) => resizes.map((volume): ResizeStep => ({ kind: 'volume', volume }));
  return [
    ...volumeSteps(volumes.shrinking),
    ...stepsOf('memory', ['memory']),
    ...volumeSteps(volumes.growing),
    ...stepsOf('cpu', ['quota', 'shares']),
  ];

  /** @param parts the limit first: it grows before the request, and shrinks after it */
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
 * Protection and throttling go with a limit that changes. Where it stays, as when only a request changes, they decide. Upstream leaves them as they are
 * then.
 */
function changeOf(pod: PodCgroupValues, part: PodCgroupPart): number {
  const change = compare(pod[part]);
  if (part !== 'memory' || change !== 0) return change;
  return Math.max(...pod.unified.map(compare), 0) || Math.min(...pod.unified.map(compare), 0);
}

/** A value that the pod does not set stays: upstream removes no limit either. */
function compare({ current, desired = current }: PodCgroupValue): number {
  return current === desired ? 0 : desired > current ? 1 : -1;
}

export interface MemoryUsage {
  /** Bytes; undefined when they can't be read. */
  readonly pod: number | undefined;
  readonly containers: ReadonlyMap<string, number | undefined>;
}

/** The containers whose memory limit a resize lowers, with that limit in bytes. */
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

/** Returns why memory limits can't be lowered now, in upstream's words, or null: the kernel would kill, or refuse. Upstream: validateMemoryResizeAction. */
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
