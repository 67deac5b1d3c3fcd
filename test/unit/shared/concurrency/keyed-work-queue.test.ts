import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedWorkQueue } from '../../../../src/shared/concurrency/keyed-work-queue.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

function aDesk({ parallel = 2 } = {}) {
  const clock = new FakeClock();
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (err: Error) => void }>();
  const errors: string[] = [];
  const work = new KeyedWorkQueue<string>({
    work: (key, signal) => {
      begun.push(key);
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
  return { clock, begun, errors, work, end };
}

test('so many keys are worked on at a time, each once, and urgent ones come before those that wait', async () => {
  const { begun, work, end } = aDesk();
  for (const key of ['a', 'b', 'c', 'd', 'c']) work.enqueue(key);
  work.enqueue('d', true);
  assert.deepEqual(begun, ['a', 'b']);
  await end('a');
  assert.deepEqual(begun, ['a', 'b', 'd']);
  await end('b');
  await end('d');
  assert.deepEqual(begun, ['a', 'b', 'd', 'c']);
});

test('what is asked for while its key is in flight is done once more afterwards', async () => {
  const { begun, work, end } = aDesk();
  work.enqueue('a');
  work.enqueue('a');
  work.enqueue('a', true);
  assert.deepEqual(begun, ['a']);
  await end('a');
  assert.deepEqual(begun, ['a', 'a']);
  await end('a');
  assert.equal(work.isBusy('a'), false);
});

test('a key that failed waits longer each time, up to the maximum, and other keys do not wait for it', async () => {
  const { begun, errors, work, end, clock } = aDesk();
  work.enqueue('a');
  for (const [index, delayMs] of [100, 200, 400, 400].entries()) {
    await end('a', new Error('down'));
    work.enqueue('a');
    work.enqueue(`other ${index}`);
    await end(`other ${index}`);
    await clock.advance(delayMs - 1);
    assert.equal(begun.filter((key) => key === 'a').length, index + 1);
    await clock.advance(1);
    assert.equal(begun.filter((key) => key === 'a').length, index + 2);
  }
  assert.deepEqual(errors, ['a down 100', 'a down 200', 'a down 400', 'a down 400']);
  await end('a');
  work.enqueue('a');
  await end('a', new Error('down'));
  assert.equal(errors.at(-1), 'a down 100');
});

test('an error that asks for a longer wait gets it', async () => {
  const { begun, work, end, clock } = aDesk();
  work.enqueue('a');
  await end('a', Object.assign(new Error('slow down'), { retryAfterMs: 5000 }));
  await clock.advance(4999);
  assert.deepEqual(begun, ['a']);
  await clock.advance(1);
  assert.deepEqual(begun, ['a', 'a']);
});

test('a key whose failure is known to be over is tried at once', async () => {
  const { begun, work, end } = aDesk();
  work.enqueue('a');
  await end('a', new Error('down'));
  work.retryNow(['a', 'nobody']);
  assert.deepEqual(begun, ['a', 'a']);
});

test('a key that is forgotten is not begun any more', async () => {
  const { begun, work, end, clock } = aDesk({ parallel: 1 });
  work.enqueue('a');
  work.enqueue('b');
  work.forget('b');
  await end('a', new Error('down'));
  work.forget('a');
  await clock.advance(10_000);
  assert.deepEqual(begun, ['a']);
});

test('closing aborts what is in flight and begins nothing more', async () => {
  const { begun, work, errors } = aDesk({ parallel: 1 });
  work.enqueue('a');
  work.enqueue('b');
  await work.close();
  work.enqueue('c');
  assert.deepEqual(begun, ['a']);
  assert.deepEqual(errors, []);
});
