import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRows, table } from '../../support/table.ts';

test('a table whose rows hold passes, and has checked each in order', async () => {
  const seen: string[] = [];
  const waits = async () => {
    seen.push('begun');
    await Promise.resolve();
    seen.push('ended');
  };
  const rows = [
    { name: 'first', check: waits },
    { name: 'second', check: () => seen.push('second') },
  ];
  assert.equal(await checkRows(rows), undefined);
  assert.deepEqual(seen, ['begun', 'ended', 'second']);
});

test('every row that fails is named with what was expected and where, and those behind it are checked', async () => {
  const failure = await checkRows([
    { name: 'one holds', check: () => assert.equal(1, 1) },
    { name: 'two differs', check: () => assert.deepEqual({ a: 1 }, { a: 2 }) },
    { name: 'three comes late', check: () => Promise.reject(new Error('late')) },
    { name: 'four has words of its own', check: () => assert.equal('left', 'right', 'sides') },
    {
      name: 'five throws no error',
      check: () => {
        throw 'a word'; // oxlint-disable-line only-throw-error -- what is thrown is not always an error
      },
    },
  ]);
  assert.ok(failure);
  assert.match(failure.message, /^4 of 5 rows failed:\n/);
  assert.doesNotMatch(failure.message, /one holds/);
  assert.match(failure.message, /two differs\n.*AssertionError[^]*-\s+a: 2[^]*table\.test\.ts/);
  assert.match(failure.message, /three comes late\n.*Error: late/);
  assert.match(failure.message, /four has words of its own\n.*sides[^]*actual: 'left'[^]*expected: 'right'/);
  assert.match(failure.message, /five throws no error\n +'a word'/);
  assert.equal(failure.stack, failure.message);
});

test('a table without rows is refused by name', () => {
  assert.throws(() => table('nothing', () => undefined), /the table "nothing" has no rows/);
});

table('a table is a test that says how many rows it has', (row) => {
  row('one', () => assert.ok(true));
  row('two', async () => assert.ok(await Promise.resolve(true)));
});
