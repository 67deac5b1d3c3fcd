/** The helper of the table tests: which rows are checked, and how failures are reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRows, table } from '../../support/table.ts';

test('a table of passing rows passes, and checks each row in order', async () => {
  const seen: string[] = [];
  const asyncCheck = async () => {
    seen.push('started');
    await Promise.resolve();
    seen.push('ended');
  };
  const rows = [
    { name: 'first', check: asyncCheck },
    { name: 'second', check: () => seen.push('second') },
  ];
  assert.equal(await checkRows(rows), undefined);
  assert.deepEqual(seen, ['started', 'ended', 'second']);
});

test('each failed row is reported with its difference and stack, and later rows are checked', async () => {
  const failure = await checkRows([
    { name: 'one passes', check: () => assert.equal(1, 1) },
    { name: 'two differs', check: () => assert.deepEqual({ a: 1 }, { a: 2 }) },
    { name: 'three rejects', check: () => Promise.reject(new Error('late')) },
    { name: 'four has a message', check: () => assert.equal('left', 'right', 'sides') },
    {
      name: 'five throws no error',
      check: () => {
        throw 'a string'; // oxlint-disable-line only-throw-error -- a thrown value is not always an error
      },
    },
  ]);
  assert.ok(failure);
  assert.match(failure.message, /^4 of 5 rows failed:\n/);
  assert.doesNotMatch(failure.message, /one passes/);
  assert.match(failure.message, /two differs\n.*AssertionError[^]*-\s+a: 2[^]*table\.test\.ts/);
  assert.match(failure.message, /three rejects\n.*Error: late/);
  assert.match(failure.message, /four has a message\n.*sides[^]*actual: 'left'[^]*expected: 'right'/);
  assert.match(failure.message, /five throws no error\n +'a string'/);
  assert.equal(failure.stack, failure.message);
});

test('a table without rows throws an error with its name', () => {
  assert.throws(() => table('nothing', () => undefined), /the table "nothing" has no rows/);
});

table('the name of a table’s test includes the number of rows', (row) => {
  row('one', () => assert.ok(true));
  row('two', async () => assert.ok(await Promise.resolve(true)));
});
