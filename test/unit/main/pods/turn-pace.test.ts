import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnPace, type Turn } from '../../../../src/main/pods/turn-pace.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const nextTurn = async () => {
  await new Promise<void>((resolve) => setImmediate(resolve));
  await settle();
};

function aPace() {
  const clock = new FakeClock();
  const pace = new TurnPace(clock);
  const went: string[] = [];
  const turns = new Map<string, Turn>();
  const ask = (name: string, isUrgent = false) => {
    const turn = pace.turn(isUrgent);
    turns.set(name, turn);
    void turn.granted.then(() => went.push(name));
  };
  /** What went since the last question. */
  const now = async () => {
    await settle();
    return went.splice(0);
  };
  return { clock, ask, now, over: (name: string) => turns.get(name)!.over(), hurry: (name: string) => turns.get(name)!.hurry() };
}

test('four urgent ones go on in each turn, before all others, and nobody is left behind', async () => {
  const pace = new TurnPace(new FakeClock());
  const went: string[] = [];
  const ask = (name: string, isUrgent: boolean) => void pace.turn(isUrgent).granted.then(() => went.push(name));
  const sameTurn = async () => {
    for (let n = 0; n < 3; n += 1) await Promise.resolve();
  };
  for (let n = 0; n < 6; n += 1) ask(`new ${n}`, true);
  ask('old', false);
  ask('new 6', true);
  await sameTurn();
  assert.deepEqual(went, ['new 0', 'new 1', 'new 2', 'new 3']);
  await nextTurn();
  assert.deepEqual(went.slice(4), ['new 4', 'new 5', 'new 6', 'old']);
});

test('of syncs that find nothing to do four are under way at a time; each that is over lets in the next', async () => {
  const { ask, now, over } = aPace();
  for (let n = 0; n < 6; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['old 0', 'old 1', 'old 2', 'old 3']);
  await nextTurn();
  assert.deepEqual(await now(), []);
  over('old 2');
  over('old 2');
  assert.deepEqual(await now(), ['old 4']);
});

test('beside a pod that starts one goes at a time', async () => {
  const { ask, now, over } = aPace();
  ask('new', true);
  for (let n = 0; n < 3; n += 1) ask(`old ${n}`);
  assert.deepEqual(await now(), ['new', 'old 0']);
  over('old 0');
  assert.deepEqual(await now(), ['old 1']);
  over('new');
  assert.deepEqual(await now(), ['old 2']);
});

test('one that waits for something else than a core holds up nobody', async () => {
  const { clock, ask, now, over } = aPace();
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
  const { ask, now, over, hurry } = aPace();
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
