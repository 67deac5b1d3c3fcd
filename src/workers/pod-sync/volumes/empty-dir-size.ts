/** How large a memory-backed emptyDir may grow, and of which huge pages one is made (upstream pkg/volume/emptydir). Pure. */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { hasPodLevelResources } from '../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity, parseQuantity, value } from '../../../shared/kubernetes/quantity.ts';
import { podCgroupResources } from '../../../shared/linux/cgroup-values.ts';

/**
 * The least of what the node can give, what the pod is limited to, and the volume's own limit; limits of 0 do not count. In bytes; 0:
 * nobody knows.
 */
export function memorySizeBytes(pod: Pod, allocatableBytes: number, sizeLimit: string | undefined, podLevelResources: boolean): number {
  const ofPod =
    podCgroupResources(pod, { enforceCPULimits: false, cpuPeriodUs: 100_000, podPidsLimit: 0, podLevelResources }).memoryBytes ?? 0;
  let size = allocatableBytes;
  for (const limit of [ofPod, sizeLimit === undefined ? 0 : value(sizeLimit)]) {
    if (limit > 0 && limit <= size) size = limit;
  }
  return Math.trunc(size);
}

const mediumPrefix = 'HugePages-';
const resourcePrefix = 'hugepages-';

/** hugetlbfs's `pagesize` option. Throws an Error when no container asks for such pages, or nobody can tell which are meant. */
export function pageSizeOption(medium: string, { spec }: Pod, podLevelResources: boolean): string {
  const lists = [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources?.requests);
  if (podLevelResources && hasPodLevelResources(spec)) lists.push(spec.resources?.requests);
  const names = lists.flatMap((requests) => Object.keys(requests ?? {})).filter((name) => name.startsWith(resourcePrefix));
  const asked = new Set(names.map((name) => formatQuantity(parseQuantity(name.slice(resourcePrefix.length)))));
  const wanted = medium.startsWith(mediumPrefix) ? formatQuantity(parseQuantity(medium.slice(mediumPrefix.length))) : undefined;
  if (wanted === undefined && asked.size > 1)
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  const [size] = wanted === undefined ? asked : [...asked].filter((name) => name === wanted);
  if (size === undefined) throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  return `pagesize=${size}`;
}

/** Whether what is mounted has the pages that the medium names. The kernel writes `2M` where we say `2Mi`. */
export function mountedPageSizeMatches(medium: string, superOptions: readonly string[]): boolean {
  if (!medium.startsWith(mediumPrefix)) return true;
  const mounted = superOptions.find((option) => option.startsWith('pagesize='))?.slice('pagesize='.length);
  return mounted !== undefined && value(`${mounted.replace(/i$/, '')}i`) === value(medium.slice(mediumPrefix.length));
}
