import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnPace } from '../../../../src/main/pods/turn-pace.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('four go on in each turn, the urgent ones first, and nobody is left behind', async () => {
  const pace = new TurnPace();
  const went: string[] = [];
  const ask = (name: string, isUrgent = false) => void pace.turn(isUrgent).then(() => went.push(name));
  for (let n = 0; n < 9; n += 1) ask(`old ${n}`);
  ask('new', true);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(went, ['old 0', 'old 1', 'old 2', 'old 3']);
  await nextTurn();
  assert.deepEqual(went.slice(4), ['new', 'old 4', 'old 5', 'old 6']);
  await nextTurn();
  assert.deepEqual(went.slice(8), ['old 7', 'old 8']);
  await nextTurn();
  ask('later');
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(went.at(-1), 'later');
});
