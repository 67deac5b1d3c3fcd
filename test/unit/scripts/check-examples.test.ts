import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyChange, findExampleProblems, readDiff } from '../../../scripts/check-examples.ts';
import { table } from '../../support/table.ts';

const newFile = (path: string) =>
  `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+export const part = {};\n`;
const change = (path: string, ...lines: readonly string[]) =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1,3 @@\n${lines.join('\n')}\n`;
const part = newFile('src/parts/part.ts');
const aTest = newFile('test/unit/part.test.ts');
const row = change('src/parts/index.ts', "+import { part } from './part.ts';", ' export const parts = [', '+  part,', ' ];');

const cases: readonly (readonly [name: string, diff: string, want: readonly string[]])[] = [
  ['a file and a row', part + row + aTest, []],
  ['a test that changes, too', part + row + aTest + change('test/unit/other.test.ts', '-  other,'), []],
  ['no test', part + row, ['has no test']],
  ['two files', part + newFile('src/parts/more.ts') + row + aTest, ['has not exactly one new file below src/']],
  ['two tables', part + row + row + aTest, ['changes not exactly one table', 'adds more to the table than an import and a row']],
  ['two rows', part + change('src/parts/index.ts', '+a', '+b') + aTest, ['adds more to the table than an import and a row']],
  ['a row that changes', part + row.replace(' export', '-export') + aTest, ['adds more to the table than an import and a row']],
  ['a document', part + row + aTest + change('docs/x.md', '+x'), ['changes docs/x.md: only src/ and test/ may change']],
];
table('a worked example is one new file and one row', (check) => {
  for (const [name, diff, want] of cases) check(name, () => assert.deepEqual(findExampleProblems(readDiff(diff)), want));
});

test('an example applies where its lines are, and nowhere else', () => {
  const [inTable] = readDiff(row);
  const [added] = readDiff(part);
  const before = '/** Parts. */\nexport const parts = [\n];\n';
  assert.equal(applyChange(inTable!, before), "/** Parts. */\nimport { part } from './part.ts';\nexport const parts = [\n  part,\n];\n");
  assert.equal(applyChange(added!, undefined), 'export const part = {};\n');
  const message = 'src/parts/index.ts has other lines than the example: export const parts = [ …';
  assert.throws(() => applyChange(inTable!, 'export const all = [\n];\n'), { message });
  assert.throws(() => applyChange(inTable!, undefined), { message: 'src/parts/index.ts does not exist' });
  assert.throws(() => applyChange(added!, ''), { message: 'src/parts/part.ts exists already' });
});
