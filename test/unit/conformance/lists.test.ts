import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { testLists } from '../../conformance/lists.ts';
import type { Expectation } from '../../conformance/verdict.ts';

const committed = join(import.meta.dirname, '../../conformance');
const names = testLists.map(({ name }) => name);

test('each list has a name of its own', () => {
  assert.deepEqual([...new Set(names)], names);
});

test('rows of expected.yaml and counts.yaml belong to lists', () => {
  const rows = parse(readFileSync(join(committed, 'expected.yaml'), 'utf8')) as readonly Expectation[];
  const counts = parse(readFileSync(join(committed, 'counts.yaml'), 'utf8')) as object;
  assert.deepEqual(
    [...rows.flatMap(({ lists }) => lists), ...Object.keys(counts)].filter((name) => !names.includes(name)),
    [],
  );
  assert.deepEqual(
    rows.filter(({ lists, reason }) => lists.length === 0 || reason === ''),
    [],
  );
});
