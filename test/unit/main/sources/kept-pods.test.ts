import assert from 'node:assert/strict';
import { keptPodEvents } from '../../../../src/main/sources/kept-pods.ts';
import type { ManifestFile } from '../../../../src/main/sources/manifest-file.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const pod = aPod();
const valid: ManifestFile = { pod, error: null, signature: '1', contentHash: 'a' };
const broken: ManifestFile = { pod, error: 'bad', signature: '2', contentHash: 'b' };

const cases: readonly { name: string; previous?: ManifestFile; current: ManifestFile; isChosen?: boolean; want: readonly string[] }[] = [
  { name: 'a valid manifest', previous: valid, current: valid, want: [] },
  { name: 'a manifest that becomes broken', previous: valid, current: broken, want: ['bad'] },
  { name: 'a manifest that stays broken', previous: broken, current: { ...broken, signature: '3' }, want: [] },
  { name: 'another content with the same error', previous: broken, current: { ...broken, contentHash: 'c' }, want: ['bad'] },
  {
    name: 'a manifest that can no longer be read',
    previous: broken,
    current: { ...broken, error: 'EIO', contentHash: null },
    want: ['EIO'],
  },
  { name: 'a manifest that is broken again', previous: valid, current: broken, want: ['bad'] },
  { name: 'an empty file, which a writer may fill', previous: valid, current: { ...broken, emptySinceMs: 1 }, want: [] },
  { name: 'a file that the pool did not decode', previous: valid, current: { ...broken, isUndecoded: true }, want: [] },
  { name: 'a manifest that was never valid', current: { ...broken, pod: null }, want: [] },
  { name: 'a pod that another manifest replaces', previous: valid, current: broken, isChosen: false, want: [] },
];
table('the events of pods that are kept', (row) => {
  for (const { name, previous, current, isChosen = true, want } of cases) {
    row(name, () => {
      const files = (file?: ManifestFile) => new Map(file ? [['/pods/web.yaml', file] as const] : []);
      const events = keptPodEvents(files(previous), files(current), isChosen ? [pod] : []);
      assert.deepEqual(
        events.map(({ object, reason, message }) => [object.uid, reason, message]),
        want.map((error) => [
          pod.metadata.uid,
          'FailedValidation',
          `Manifest /pods/web.yaml is not valid, the pod is kept as it was: ${error}`,
        ]),
      );
    });
  }
});
