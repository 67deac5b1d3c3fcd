import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { SyncSlots, type SyncSlot, type SyncKind } from '../../../../../src/main/pods/scheduling/sync-slots.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const nextTurn = async () => {
  await new Promise<void>((resolve) => setImmediate(resolve));
  await settle();
};

interface Asked {
  readonly kind?: SyncKind;
  readonly priority?: number;
  readonly podSeenAtMs?: number;
}

/** Of a kubelet that is at work, unless it has just begun. */
async function aPace({ startLimit = 4, hasBegun: isAtWork = true } = {}) {
  const clock = new FakeClock();
  const pace = new SyncSlots(clock, () => startLimit);
  const went: string[] = [];
  const turns = new Map<string, SyncSlot>();
  const ask = (name: string, { kind = 'other', priority = 0, podSeenAtMs = 0 }: Asked = {}) => {
    const turn = pace.requestSlot({ uid: name as PodUID, kind, priority, podSeenAtMs });
    turns.set(name, turn);
    void turn.granted.then(() => went.push(name));
  };
  /** What went since the last question. */
  const now = async () => {
    await settle();
    return went.splice(0);
  };
  if (isAtWork) {
    pace.requestSlot({ uid: 'first' as PodUID, kind: 'other', priority: 0, podSeenAtMs: 0 }).release();
    await clock.advance(200);
  }
  const hasBegun = (name: string) => pace.hasBegun(name as PodUID);
  const isQueued = (name: string) => pace.isQueued(name as PodUID);
  return {
    clock,
    went,
    ask,
    now,
    hasBegun,
    isQueued,
    over: (name: string) => turns.get(name)!.release(),
    hurry: (name: string) => turns.get(name)!.prioritize(),
  };
}

test('four urgent ones go on in each turn, before all others, and nobody is left behind', async () => {
  const { went, ask } = await aPace();
  const sameTurn = async () => {
    for (let n = 0; n < 3; n += 1) await Promise.resolve();
  };
  for (let n = 0; n < 6; n += 1) ask(`new ${n}`, { kind: 'urgent' });
  ask('old');
  ask('new 6', { kind: 'urgent' });
  await sameTurn();
  assert.deepEqual(went, ['new 0', 'new 1', 'new 2', 'new 3']);
  await nextTurn();
  assert.deepEqual(went.slice(4), ['new 4', 'new 5', 'new 6', 'old']);
});

test('four pods at a time begin, the more important and then the older first; each that makes its sandbox lets in the next', async () => {
  const { ask, now, hasBegun, over } = await aPace();
  for (let n = 0; n < 5; n += 1) ask(`new ${n}`, { kind: 'begin', podSeenAtMs: 9 - n });
  ask('system', { kind: 'begin', priority: 5, podSeenAtMs: 99 });
  assert.deepEqual(await now(), ['new 0', 'new 1', 'new 2', 'new 3', 'system']);
  await nextTurn();
  hasBegun('new 2');
  hasBegun('new 2');
  assert.deepEqual(await now(), []);
  hasBegun('system');
  assert.deepEqual(await now(), ['new 4']);
  for (const [name, podSeenAtMs] of [
    ['young', 2],
    ['old', 1],
  ] as const)
    ask(name, { kind: 'begin', podSeenAtMs });
  await nextTurn();
  assert.deepEqual(await now(), []);
  over('new 0');
  over('new 1');
  assert.deepEqual(await now(), ['old', 'young']);
});

for (const [startLimit, begin] of [
  [6, 6],
  [1, 2],
] as const) {
  test(`${begin} pods begin at a time where the runtime is given ${startLimit} starts`, async () => {
    const { ask, now } = await aPace({ startLimit });
    for (let n = 0; n < 9; n += 1) ask(`new ${n}`, { kind: 'begin' });
    await nextTurn();
    await nextTurn();
    assert.equal((await now()).length, begin);
  });
}

test('what a pod that runs needs back waits for none that begins', async () => {
  const { ask, now } = await aPace();
  for (let n = 0; n < 6; n += 1) ask(`new ${n}`, { kind: 'begin' });
  assert.equal((await now()).length, 4);
  await nextTurn();
  ask('crashed', { kind: 'urgent' });
  assert.deepEqual(await now(), ['crashed']);
});

test('a pod that begins and waits for something else than a core holds up the others for a second', async () => {
  const { clock, ask, now } = await aPace();
  for (let n = 0; n < 5; n += 1) ask(`new ${n}`, { kind: 'begin' });
  assert.equal((await now()).length, 4);
  await nextTurn();
  await clock.advance(999);
  assert.deepEqual(await now(), []);
  await clock.advance(1);
  assert.deepEqual(await now(), ['new 4']);
});

test('one whose turn at the runtime has not come holds up the others until it comes, for ten seconds at most', async () => {
  const { clock, ask, now, isQueued, hasBegun } = await aPace();
  for (let n = 0; n < 6; n += 1) ask(`new ${n}`, { kind: 'begin' });
  assert.equal((await now()).length, 4);
  await nextTurn();
  for (let n = 0; n < 4; n += 1) isQueued(`new ${n}`);
  await clock.advance(9_999);
  assert.deepEqual(await now(), []);
  hasBegun('new 1');
  assert.deepEqual(await now(), ['new 4']);
  await clock.advance(1);
  assert.deepEqual(await now(), ['new 5']);
});

test('the first that will find nothing waits for those that a kubelet finds after it', async () => {
  const { clock, ask, now } = await aPace({ hasBegun: false });
  ask('old 0');
  ask('new', { kind: 'begin' });
  assert.deepEqual(await now(), ['new']);
  await clock.advance(199);
  assert.deepEqual(await now(), []);
  await clock.advance(1);
  assert.deepEqual(await now(), ['old 0']);
});

test('of syncs that find nothing to do four are under way at a time; each that is over lets in the next', async () => {
  const { ask, now, over } = await aPace();
  for (let n = 0; n < 6; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['old 0', 'old 1', 'old 2', 'old 3']);
  await nextTurn();
  assert.deepEqual(await now(), []);
  over('old 2');
  over('old 2');
  assert.deepEqual(await now(), ['old 4']);
});

test('beside a pod that has something to do one goes at a time, and one in 100 ms', async () => {
  const { clock, ask, now, over } = await aPace();
  ask('new', { kind: 'urgent' });
  for (let n = 0; n < 6; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['new', 'old 0']);
  over('old 0');
  assert.deepEqual(await now(), []);
  await clock.advance(100);
  assert.deepEqual(await now(), ['old 1']);
  over('old 1');
  await clock.advance(99);
  assert.deepEqual(await now(), []);
  await clock.advance(1);
  assert.deepEqual(await now(), ['old 2']);
  await nextTurn();
  over('new');
  assert.deepEqual(await now(), ['old 3', 'old 4', 'old 5']);
});

test('also where its sandbox is being made and other pods may begin; for two seconds, whatever it waits for', async () => {
  const { clock, ask, now, over, hasBegun } = await aPace();
  ask('new', { kind: 'begin' });
  hasBegun('new');
  for (let n = 0; n < 2; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['new', 'old 0']);
  over('old 0');
  await clock.advance(99);
  assert.deepEqual(await now(), []);
  await clock.advance(1);
  assert.deepEqual(await now(), ['old 1']);
  await clock.advance(1900);
  over('old 1');
  await nextTurn();
  for (let n = 2; n < 6; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['old 2', 'old 3', 'old 4', 'old 5']);
});

test('one that waits for something else than a core holds up nobody', async () => {
  const { clock, ask, now, over } = await aPace();
  for (let n = 0; n < 9; n += 1) ask(`old ${n}`);
  assert.equal((await now()).length, 4);
  await nextTurn();
  await clock.advance(100);
  assert.equal((await now()).length, 4);
  over('old 0');
  await nextTurn();
  assert.deepEqual(await now(), []);
  over('old 4');
  assert.deepEqual(await now(), ['old 8']);
});

test('a pod that is to end meanwhile need not wait, and one that goes away holds no place', async () => {
  const { ask, now, over, hurry } = await aPace();
  for (let n = 0; n < 7; n += 1) ask(`old ${n}`);
  assert.equal((await now()).length, 4);
  await nextTurn();
  hurry('old 6');
  assert.deepEqual(await now(), ['old 6']);
  over('old 4');
  over('old 0');
  over('old 6');
  assert.deepEqual(await now(), ['old 5']);
});
