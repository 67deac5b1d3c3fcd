import assert from 'node:assert/strict';
import type { Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import { imageMountsProblem } from '../../../../../../src/workers/pod-sync/pod/start/image-mounts-size.ts';
import { aContainer, aPod } from '../../../../../support/pods/pod-sync-samples.ts';
import { table } from '../../../../../support/table.ts';

const kibibyte = 1024;
const rows: readonly [name: string, annotation: number, mounts: number, volume: string, problem: RegExp | null][] = [
  ['a usual pod', 4 * kibibyte, 10, 'image', null],
  ['annotations of the largest size in few mounts', 255 * kibibyte, 60, 'image', null],
  [
    'annotations of the largest size in many mounts',
    255 * kibibyte,
    70,
    'image',
    /^the annotations of the pod, in each of 70 mounts of images, take 18278470 bytes, and the runtime accepts 16777216$/,
  ],
  ['many mounts of another volume', 255 * kibibyte, 4000, 'data', null],
  ['no mounts', 255 * kibibyte, 0, 'image', null],
];
table('the annotations in the mounts of images', (row) => {
  for (const [name, annotation, count, volume, problem] of rows) {
    row(name, () => {
      const volumeMounts = Array.from({ length: count }, (_, index) => ({ name: volume, mountPath: `/${index}` }));
      const container = { ...aContainer('a'), volumeMounts };
      const volumes = [
        { name: 'image', image: { reference: 'r' } },
        { name: 'data', emptyDir: {} },
      ];
      const plain = aPod({ containers: [container], volumes });
      const pod: Pod = { ...plain, metadata: { ...plain.metadata, annotations: { a: 'x'.repeat(annotation) } } };
      const found = imageMountsProblem(pod, container);
      if (problem === null) assert.equal(found, null);
      else assert.match(found ?? '', problem);
    });
  }
});
