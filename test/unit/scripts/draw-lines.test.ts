import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawLines, isReadable, type SourceLine } from '../../../scripts/draw-lines.ts';
import { table } from '../../support/table.ts';

const lines: SourceLine[] = Array.from({ length: 100 }, (_, index) => ({
  file: 'a.ts',
  line: index + 1,
  text: `const value${index} = 1;`,
}));

test('a seed always draws the same lines, and another one others', () => {
  const drawn = drawLines(lines, 'one', 10);
  assert.equal(new Set(drawn.map(({ line }) => line)).size, 10);
  assert.deepEqual(drawLines(lines.toReversed(), 'one', 10), drawn);
  assert.notDeepEqual(drawLines(lines, 'two', 10), drawn);
});

table('lines with something to read', (row) => {
  const check = (name: string, text: string, want: boolean) => row(name, () => assert.equal(isReadable(text), want));
  check('code', '  return first < second ? -1 : 1;', true);
  check('a comment', '/** Upstream: isPodInactive. */', true);
  check('an import', "import { test } from 'node:test';", false);
  check('the end of a long import', "} from '../node/index.ts';", false);
  check('brackets', '  });', false);
  check('nothing', '', false);
});
