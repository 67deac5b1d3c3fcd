import assert from 'node:assert/strict';
import { mergePatch } from '../../../../src/main/config/merge-patch.ts';
import { table } from '../../../support/table.ts';

const cases: { name: string; target: unknown; patch: unknown; want: unknown }[] = [
  { name: 'a drop-in replaces a value', target: { a: 1, b: 2 }, patch: { a: 3 }, want: { a: 3, b: 2 } },
  { name: 'a drop-in adds to a map', target: { m: { x: 'a' } }, patch: { m: { y: 'b' } }, want: { m: { x: 'a', y: 'b' } } },
  { name: 'a drop-in replaces a whole list', target: { l: [1, 2] }, patch: { l: [3] }, want: { l: [3] } },
  { name: 'null removes a field', target: { a: 1, m: { x: 1, y: 2 } }, patch: { a: null, m: { x: null } }, want: { m: { y: 2 } } },
  { name: 'a map replaces a value', target: { a: 1 }, patch: { a: { b: null, c: 1 } }, want: { a: { c: 1 } } },
  {
    name: 'a key named __proto__ is an ordinary key',
    target: {},
    patch: JSON.parse('{"m":{"__proto__":{"a":1}}}'),
    want: JSON.parse('{"m":{"__proto__":{"a":1}}}'),
  },
];
table('a drop-in is merged as a JSON merge patch', (row) => {
  for (const { name, target, patch, want } of cases) {
    row(name, () => {
      const before = JSON.stringify(target);
      assert.deepEqual(mergePatch(target, patch), want);
      assert.equal(JSON.stringify(target), before, 'the target is not changed');
    });
  }
});
