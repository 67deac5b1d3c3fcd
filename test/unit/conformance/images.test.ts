import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testImages } from '../../conformance/images.ts';
import { table } from '../../support/table.ts';

/** By name, with the versions that the suite of the release pulls: `2.55; 2.66.1`. */
const upstream = JSON.parse(readFileSync(join(import.meta.dirname, '../../conformance/upstream-images.json'), 'utf8')) as Record<
  string,
  string
>;
const binaries = { 'e2e.test': '', 'e2e_node.test': '', ginkgo: '', agnhost: '', nonewprivs: '' };

table('a stand-in has a version that upstream’s suite pulls', (row) => {
  for (const reference of testImages(binaries, () => {}).flatMap(({ references }) => references)) {
    const [, name = '', version = ''] = /^(?:e2e-test-images\/)?([^:]+):(.+)$/.exec(reference) ?? [];
    row(reference, () => assert.ok(upstream[name]?.split('; ').includes(version), `upstream has ${name} ${upstream[name]}`));
  }
});
