import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec, ResourceRequirements } from '../../../../../../src/shared/kubernetes/api.ts';
import {
  computeMemorySizeBytes,
  mountedPageSizeMatches,
  pageSizeOption,
} from '../../../../../../src/workers/pod-sync/pod/volumes/empty-dir-size.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

const podWith = (resources: ResourceRequirements, spec: Partial<PodSpec> = {}) =>
  aPod({ spec: { containers: [aContainer({ resources })], ...spec } });
const limit = (memory: string) => ({ limits: { memory, cpu: '1' }, requests: { memory, cpu: '1' } });

const sizes: readonly [name: string, resources: ResourceRequirements, sizeLimit: string | undefined, want: number][] = [
  ['the allocatable memory of the node', {}, undefined, 3_000_000_000],
  ['the limit of the volume', {}, '1Gi', 1_073_741_824],
  ['the limit of the pod', limit('1G'), undefined, 1_000_000_000],
  ['the lesser of both: the volume’s', limit('1G'), '1M', 1_000_000],
  ['the lesser of both: the pod’s', limit('1M'), '1G', 1_000_000],
  ['the allocatable memory, if it is less than the limits', limit('9G'), '8G', 3_000_000_000],
  ['the allocatable memory, if the limit is zero', {}, '0', 3_000_000_000],
  ['the memory limit of a Burstable pod', { limits: { memory: '1G' } }, undefined, 1_000_000_000],
];
table('the size limit of a volume in memory', (row) => {
  for (const [name, resources, sizeLimit, want] of sizes) {
    row(`the size limit of a volume in memory is ${name}`, () =>
      assert.equal(computeMemorySizeBytes(podWith(resources), 3_000_000_000, sizeLimit, true), want),
    );
  }
});

const huge = (...sizes: string[]) => ({ requests: Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, '4Mi'])) });
const pages: readonly [name: string, medium: string, resources: ResourceRequirements, want: string | RegExp][] = [
  ['the only requested size', 'HugePages', huge('2Mi'), 'pagesize=2Mi'],
  ['the size of the medium', 'HugePages-1Gi', huge('2Mi', '1Gi'), 'pagesize=1Gi'],
  ['a size in another spelling', 'HugePages-2048Ki', huge('2Mi'), 'pagesize=2Mi'],
  ['an ambiguous size', 'HugePages', huge('2Mi', '1Gi'), /medium: HugePages can't be used if container requests multiple huge page sizes/],
  ['no requested size', 'HugePages', {}, /medium HugePages: hugePages storage requested, but there is no resource request/],
  ['another requested size', 'HugePages-1Gi', huge('2Mi'), /there is no resource request for huge pages/],
];
table('a volume of huge pages', (row) => {
  for (const [name, medium, resources, want] of pages) {
    row(`a volume of huge pages, ${name}`, () => {
      if (typeof want === 'string') assert.equal(pageSizeOption(medium, podWith(resources), true), want);
      else assert.throws(() => pageSizeOption(medium, podWith(resources), true), want);
    });
  }
});

test('the kernel’s spelling of a page size is recognized', () => {
  assert.ok(mountedPageSizeMatches('HugePages-2Mi', ['rw', 'pagesize=2M']));
  assert.ok(mountedPageSizeMatches('HugePages-1Gi', ['rw', 'pagesize=1024M']));
  assert.ok(!mountedPageSizeMatches('HugePages-1Gi', ['rw', 'pagesize=2M']));
  assert.ok(!mountedPageSizeMatches('HugePages-1Gi', ['rw']));
  assert.ok(mountedPageSizeMatches('HugePages', ['rw']));
});
