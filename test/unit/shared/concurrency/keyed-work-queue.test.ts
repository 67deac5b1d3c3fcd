import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedWorkQueue } from '../../../../src/shared/concurrency/keyed-work-queue.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

function aQueue({ parallel = 2 } = {}) {
  const clock = new FakeClock();
  const started: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (err: Error) => void }>();
  const errors: string[] = [];
  const work = new KeyedWorkQueue<string>({
    work: (key, signal) => {
      started.push(key);
      return new Promise((resolve, reject) => {
        ends.set(key, { resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
    onError: (key, err, retryAfterMs) => void errors.push(`${key} ${(err as Error).message} ${retryAfterMs}`),
    retryAfterMs: (err) => (err as { retryAfterMs?: number }).retryAfterMs,
    parallel,
    backoff: { initialMs: 100, maxMs: 400 },
    clock,
    random: () => 0,
  });
  const end = async (key: string, err?: Error) => {
    const { resolve, reject } = ends.get(key)!;
    if (err) reject(err);
    else resolve();
    await settle();
  };
  return { clock, started, errors, work, end };
}

test('at most `parallel` keys are in flight, each once, and urgent keys come before waiting ones', async () => {
  const { started, work, end } = aQueue();
  for (const key of ['a', 'b', 'c', 'd', 'c']) work.enqueue(key);
  work.enqueue('d', true);
  assert.deepEqual(started, ['a', 'b']);
  await end('a');
  assert.deepEqual(started, ['a', 'b', 'd']);
  await end('b');
  await end('d');
  assert.deepEqual(started, ['a', 'b', 'd', 'c']);
});

test('a key that is enqueued while in flight is worked on once more afterwards', async () => {
  const { started, work, end } = aQueue();
  work.enqueue('a');
  work.enqueue('a');
  work.enqueue('a', true);
  assert.deepEqual(started, ['a']);
  await end('a');
  assert.deepEqual(started, ['a', 'a']);
  await end('a');
  assert.equal(work.isBusy('a'), false);
});

test('a key that failed waits longer each time, up to the maximum, and other keys do not wait for it', async () => {
  const { started, errors, work, end, clock } = aQueue();
  work.enqueue('a');
  for (const [index, delayMs] of [100, 200, 400, 400].entries()) {
    await end('a', new Error('down'));
    work.enqueue('a');
    work.enqueue(`other ${index}`);
    await end(`other ${index}`);
    await clock.advance(delayMs - 1);
    assert.equal(started.filter((key) => key === 'a').length, index + 1);
    await clock.advance(1);
    assert.equal(started.filter((key) => key === 'a').length, index + 2);
  }
  assert.deepEqual(errors, ['a down 100', 'a down 200', 'a down 400', 'a down 400']);
  await end('a');
  work.enqueue('a');
  await end('a', new Error('down'));
  assert.equal(errors.at(-1), 'a down 100');
});

test('an error can require a longer delay', async () => {
  const { started, work, end, clock } = aQueue();
  work.enqueue('a');
  await end('a', Object.assign(new Error('slow down'), { retryAfterMs: 5000 }));
  await clock.advance(4999);
  assert.deepEqual(started, ['a']);
  await clock.advance(1);
  assert.deepEqual(started, ['a', 'a']);
});

test('retryNow retries a failed key immediately', async () => {
  const { started, work, end } = aQueue();
  work.enqueue('a');
  await end('a', new Error('down'));
  work.retryNow(['a', 'unknown']);
  assert.deepEqual(started, ['a', 'a']);
});

test('a forgotten key is not worked on any more', async () => {
  const { started, work, end, clock } = aQueue({ parallel: 1 });
  work.enqueue('a');
  work.enqueue('b');
  work.forget('b');
  await end('a', new Error('down'));
  work.forget('a');
  await clock.advance(10_000);
  assert.deepEqual(started, ['a']);
});

test('closing aborts the work in flight and starts no more', async () => {
  const { started, work, errors } = aQueue({ parallel: 1 });
  work.enqueue('a');
  work.enqueue('b');
  await work.close();
  work.enqueue('c');
  assert.deepEqual(started, ['a']);
  assert.deepEqual(errors, []);
});
