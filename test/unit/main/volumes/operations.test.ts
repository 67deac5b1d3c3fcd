/** Operations whose callers do not wait for long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Operations } from '../../../../src/main/volumes/operations.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function anOperation() {
  const clock = new FakeClock();
  const operations = new Operations<string>(clock);
  const { promise, resolve } = Promise.withResolvers<string>();
  const calls = { started: 0, late: 0 };
  const run = () =>
    operations.run(
      'k',
      () => {
        calls.started += 1;
        return promise;
      },
      () => (calls.late += 1),
    );
  return { clock, operations, resolve, calls, run };
}

test('an operation that ends soon has its result, and two callers share it', async () => {
  const { resolve, calls, run } = anOperation();
  const both = Promise.all([run(), run()]);
  resolve('done');
  assert.deepEqual(await both, [{ result: 'done' }, { result: 'done' }]);
  assert.deepEqual(calls, { started: 1, late: 0 });
});

test('an operation that lasts says since when, wakes when it ends, and gives its result once', async () => {
  const { clock, resolve, calls, run } = anOperation();
  const first = run();
  await clock.advance(1000);
  assert.deepEqual(await first, { runningMs: 1000 });
  const second = run();
  await clock.advance(1000);
  assert.deepEqual(await second, { runningMs: 2000 });
  resolve('failed');
  await clock.advance(0);
  assert.deepEqual(calls, { started: 1, late: 1 });
  assert.deepEqual(await run(), { result: 'failed' });
  assert.deepEqual(await run(), { result: 'failed' });
  assert.equal(calls.started, 2);
});

test('a forgotten operation wakes nobody and leaves nothing', async () => {
  const { clock, operations, resolve, calls, run } = anOperation();
  const first = run();
  await clock.advance(1000);
  await first;
  operations.forget('k');
  resolve('done');
  await clock.advance(0);
  assert.equal(calls.late, 0);
  await run();
  assert.equal(calls.started, 2);
});
