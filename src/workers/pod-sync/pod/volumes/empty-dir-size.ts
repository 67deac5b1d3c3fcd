/** Computes the size limit of a memory-backed emptyDir, and the page size of one with huge pages (upstream pkg/volume/emptydir). Pure. */
import type { Pod } from '../../../../shared/kubernetes/api.ts';
import { hasPodLevelResources } from '../../../../shared/kubernetes/pod-resources.ts';
import { formatQuantity, parseQuantity, value } from '../../../../shared/kubernetes/quantity.ts';
import { computePodCgroupResources } from '../../../../shared/cgroups/cgroup-values.ts';

/** Returns the least of the node's allocatable memory, the pod's limit and the volume's limit. A limit of 0 does not count; 0 means unknown. */
export function computeMemorySizeBytes(
  pod: Pod,
  allocatableBytes: number,
  sizeLimit: string | undefined,
  podLevelResources: boolean,
): number {
  const podLimitBytes =
    computePodCgroupResources(pod, { enforceCPULimits: false, cpuPeriodUs: 100_000, podPidsLimit: 0, podLevelResources }).memoryBytes ?? 0;
  let size = allocatableBytes;
  for (const limit of [podLimitBytes, sizeLimit === undefined ? 0 : value(sizeLimit)]) {
    if (limit > 0 && limit <= size) size = limit;
  }
  return Math.trunc(size);
}

const mediumPrefix = 'HugePages-';
const resourcePrefix = 'hugepages-';

/** Returns hugetlbfs's `pagesize` option. Throws an Error when no container requests such pages, or when the size is ambiguous. */
export function pageSizeOption(medium: string, { spec }: Pod, podLevelResources: boolean): string {
  const lists = [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources?.requests);
  if (podLevelResources && hasPodLevelResources(spec)) lists.push(spec.resources?.requests);
  const names = lists.flatMap((requests) => Object.keys(requests ?? {})).filter((name) => name.startsWith(resourcePrefix));
  const requested = new Set(names.map((name) => formatQuantity(parseQuantity(name.slice(resourcePrefix.length)))));
  const mediumSize = medium.startsWith(mediumPrefix) ? formatQuantity(parseQuantity(medium.slice(mediumPrefix.length))) : undefined;
  if (mediumSize === undefined && requested.size > 1)
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  const [size] = mediumSize === undefined ? requested : [...requested].filter((name) => name === mediumSize);
  if (size === undefined) throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  return `pagesize=${size}`;
}

/** Returns whether the mounted filesystem has the page size of the medium. The kernel shows `2M` for 2 MiB, which the API writes as `2Mi`. */
export function mountedPageSizeMatches(medium: string, superOptions: readonly string[]): boolean {
  if (!medium.startsWith(mediumPrefix)) return true;
  const mounted = superOptions.find((option) => option.startsWith('pagesize='))?.slice('pagesize='.length);
  return mounted !== undefined && value(`${mounted.replace(/i$/, '')}i`) === value(medium.slice(mediumPrefix.length));
}
