import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SingleFlight } from '../../../../src/shared/concurrency/single-flight.ts';

test('concurrent callers of one key share a call; other keys and later callers have their own', async () => {
  const flights = new SingleFlight<string, number>();
  let calls = 0;
  const call = async () => (calls += 1);
  assert.deepEqual(await Promise.all([flights.run('a', call), flights.run('a', call), flights.run('b', call)]), [1, 1, 2]);
  assert.equal(await flights.run('a', call), 3);
});

test('a failure is shared and not kept, also when the call throws synchronously', async () => {
  const flights = new SingleFlight<string, number>();
  const fail = (): Promise<number> => {
    throw new Error('refused');
  };
  const both = await Promise.allSettled([flights.run('a', fail), flights.run('a', async () => 1)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await flights.run('a', async () => 2), 2);
});
