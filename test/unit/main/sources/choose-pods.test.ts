import assert from 'node:assert/strict';
import { choosePods } from '../../../../src/main/sources/choose-pods.ts';
import type { ManifestFile } from '../../../../src/main/sources/manifest-file.ts';
import { table } from '../../../support/table.ts';

function manifest(uid: string | null, error: string | null = null): ManifestFile {
  const pod = uid === null ? null : { metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [] } };
  return { pod, error, signature: null, contentHash: null };
}
const cases: readonly { name: string; files: Record<string, ManifestFile>; pods: string[]; errors: Record<string, string> }[] = [
  { name: 'a valid manifest’s pod is chosen', files: { a: manifest('1') }, pods: ['1'], errors: {} },
  { name: 'an invalid manifest keeps its last valid pod', files: { a: manifest('1', 'broken') }, pods: ['1'], errors: { a: 'broken' } },
  { name: 'a manifest that was never valid has no pod', files: { a: manifest(null, 'broken') }, pods: [], errors: { a: 'broken' } },
  {
    name: 'of two pods with one name, that of the last path is chosen',
    files: { b: manifest('2'), a: manifest('1') },
    pods: ['2'],
    errors: { a: 'pod default/web is also in b, which counts' },
  },
  {
    name: 'a valid manifest takes precedence over the last valid pod of an invalid one',
    files: { a: manifest('1'), b: manifest('2', 'broken') },
    pods: ['1'],
    errors: { b: 'broken' },
  },
];
table('one pod per name is chosen', (row) => {
  for (const { name, files, pods, errors } of cases) {
    row(name, () => {
      const chosen = choosePods(new Map(Object.entries(files)));
      assert.deepEqual(
        chosen.pods.map(({ metadata }) => metadata.uid),
        pods,
      );
      assert.deepEqual(Object.fromEntries(chosen.errors), errors);
    });
  }
});
