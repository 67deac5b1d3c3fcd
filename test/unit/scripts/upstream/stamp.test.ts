import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../../../../scripts/upstream/generated-files.ts';
import { findStale, readStamp, type Stamp } from '../../../../scripts/upstream/stamp.ts';
import { table } from '../../../support/table.ts';

const stamp: Stamp = { version: 'v1.37.2', generators: 'g', files: { a: '1', b: '2' } };
const cases: readonly { name: string; now: Partial<Stamp>; want: readonly RegExp[] }[] = [
  { name: 'the files of this version as they were generated', now: {}, want: [] },
  { name: 'another version', now: { version: 'v1.37.3', files: { a: '9' } }, want: [/^the inputs.* for v1\.37\.2, .* v1\.37\.3: run/] },
  { name: 'a changed program', now: { generators: 'h', files: { a: '9', b: '2' } }, want: [/^a program of scripts\/upstream .*changed/] },
  { name: 'a changed file', now: { files: { a: '9', b: '2' } }, want: [/^a was changed/] },
  { name: 'a file that is missing', now: { files: { a: '1', b: '' } }, want: [/^b was changed/] },
  { name: 'a new and a former file', now: { files: { a: '1', c: '3' } }, want: [/^b is generated no longer/, /^c was not generated yet/] },
];
table('the stamp finds stale inputs', (row) => {
  for (const { name, now, want } of cases) {
    row(name, () => {
      const found = findStale(stamp, { ...stamp, ...now });
      assert.equal(found.length, want.length);
      for (const [index, pattern] of want.entries()) assert.match(found[index]!, pattern);
    });
  }
});

test('the stamp covers each generated file and the programs that print them', () => {
  const project = join(import.meta.dirname, '../../../..');
  const { generators, files } = readStamp(project, 'v1.37.2');
  assert.deepEqual(
    Object.keys(files),
    generatedFiles(project).map(({ file }) => file),
  );
  for (const checksum of [generators, ...Object.values(files)]) assert.match(checksum, /^[0-9a-f]{64}$/);
});
