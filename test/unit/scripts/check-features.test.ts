import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFeatureProblems } from '../../../scripts/check-features.ts';

const sources: Readonly<Record<string, string>> = {
  'a.test.ts': "test('a pod runs', () => {});\n  test(`by ${name}`, () => {});",
  'part.test.ts': "test('a part works', () => {});",
};
const problemsOf = (...rows: string[]) =>
  findFeatureProblems({
    readme: ['# Title', '| feature | file | test |', '|---|---|---|', '| **Group** | | |', ...rows].join('\n'),
    files: Object.keys(sources),
    read: (file) => sources[file],
  });
const part = '| part.test.ts | a part |';

test('features with existing tests are valid', () => {
  assert.deepEqual(problemsOf('| runs | a.test.ts | a pod runs |', '| more | a.test.ts | by ${name} |', part), []);
});

test('a missing test, a missing file, a file that is not named and a test without the bundle are problems', () => {
  assert.deepEqual(problemsOf('| runs | a.test.ts | a pod |', part), ['runs: a.test.ts has no test named "a pod" (as its source has it)']);
  assert.deepEqual(problemsOf('| runs | a.test.ts | a pod runs |', '| gone | gone.test.ts | x |', part), [
    'gone: there is no gone.test.ts',
  ]);
  assert.deepEqual(problemsOf('| works | part.test.ts | a part works |', part), [
    'works: part.test.ts does not run the bundle: name a test that does',
    `a.test.ts is not named: add a row "| what a user sees | a.test.ts | the test's name |" to the table of features`,
  ]);
  assert.deepEqual(problemsOf('| runs | a.test.ts | a pod runs |', part, '| old.test.ts | gone |'), ['there is no old.test.ts']);
});

test('a missing table is a problem', () => {
  assert.match(findFeatureProblems({ readme: '', files: [], read: () => undefined }).join(), /no table of features/);
});
