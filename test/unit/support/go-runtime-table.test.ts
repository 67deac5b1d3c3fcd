/** Each row of docs/go-runtime.md is asserted by a test of test/e2e/go-runtime. The tests assert that each of their outcomes has a row. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const project = join(import.meta.dirname, '../../..');
const read = (file: string) => readFileSync(join(project, file), 'utf8');

test('each row of the table of Go’s runtime has a test', () => {
  const sources = globSync('test/e2e/go-runtime/*.test.ts', { cwd: project }).map(read);
  const conditions = read('docs/go-runtime.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| condition |'))
    .map((line) => line.slice(2).split(' | ')[0] ?? '');
  assert.ok(conditions.length > 40);
  const isAsserted = (condition: string) => sources.some((source) => source.includes(`'${condition}'`));
  assert.deepEqual(
    conditions.filter((condition) => !isAsserted(condition)),
    [],
  );
});
