import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LargeWorkLimiter } from '../../../../../src/workers/pod-sync/pod/large-work.ts';

const { signal } = new AbortController();
const settle = () => new Promise(setImmediate);

/** Enters, and records it. */
function anEntry(limiter: LargeWorkLimiter, entered: string[], name: string, by: AbortSignal = signal) {
  const work = limiter.forTask();
  const done = work.enter('a', by).then(
    () => entered.push(name),
    (err: unknown) => entered.push(`${name}: ${String(err)}`),
  );
  return { work, done };
}

test('two tasks of a thread hold large objects, the others wait in their order', async () => {
  const limiter = new LargeWorkLimiter();
  const entered: string[] = [];
  const [first, second, third] = ['1', '2', '3', '4'].map((name) => anEntry(limiter, entered, name));
  await settle();
  assert.deepEqual(entered, ['1', '2']);
  first!.work.leave('a');
  first!.work.leave('a');
  await settle();
  assert.deepEqual(entered, ['1', '2', '3']);
  second!.work.close();
  third!.work.close();
  await settle();
  assert.deepEqual(entered, ['1', '2', '3', '4']);
});

test('a task that has the permission gets it again at once, and keeps it until the last holder leaves', async () => {
  const limiter = new LargeWorkLimiter();
  const entered: string[] = [];
  const [first] = ['1', '2', '3'].map((name) => anEntry(limiter, entered, name));
  await first!.work.enter('b', signal);
  assert.equal(await first!.work.inTurn(signal, async () => 7), 7);
  first!.work.leave('a');
  await settle();
  assert.deepEqual(entered, ['1', '2']);
  first!.work.leave('b');
  await settle();
  assert.deepEqual(entered, ['1', '2', '3']);
});

test('a task that is stopped does not wait any more, and takes no place', async () => {
  const limiter = new LargeWorkLimiter();
  const entered: string[] = [];
  const stop = new AbortController();
  const [first] = ['1', '2'].map((name) => anEntry(limiter, entered, name));
  const stopped = anEntry(limiter, entered, '3', stop.signal);
  anEntry(limiter, entered, '4');
  await settle();
  stop.abort('stopped');
  await stopped.done;
  stopped.work.close();
  first!.work.close();
  await settle();
  assert.deepEqual(entered, ['1', '2', '3: stopped', '4']);
});

test('a task that leaves while it waits takes no place', async () => {
  const limiter = new LargeWorkLimiter();
  const entered: string[] = [];
  const [first, , third] = ['1', '2', '3', '4'].map((name) => anEntry(limiter, entered, name));
  await settle();
  third!.work.close();
  first!.work.close();
  await settle();
  assert.deepEqual(entered.at(-1), '4');
});

test('the end of a work in turn takes no permission from a container, whatever its name', async () => {
  const limiter = new LargeWorkLimiter();
  const work = limiter.forTask();
  const others = [limiter.forTask(), limiter.forTask()];
  await work.enter('turn', signal);
  await others[0]!.enter('app', signal);
  await work.inTurn(signal, async () => {});
  let hasEntered = false;
  void others[1]!.enter('app', signal).then(() => (hasEntered = true));
  await settle();
  assert.equal(hasEntered, false);
  work.leave('turn');
  await settle();
  assert.equal(hasEntered, true);
});

test('works in turn run one after the other, also after one that failed', async () => {
  const work = new LargeWorkLimiter().forTask();
  let running = 0;
  const run = (fails: boolean) =>
    work.inTurn(signal, async () => {
      running += 1;
      assert.equal(running, 1);
      await settle();
      running -= 1;
      if (fails) throw new Error('broken');
    });
  const results = await Promise.allSettled([run(false), run(true), run(false)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});
