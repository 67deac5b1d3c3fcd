import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cleanups } from '../../support/cleanups.ts';

test('clean-ups run once, the newest first, also after one that fails', async () => {
  const hooks = new Cleanups();
  const calls: string[] = [];
  const { after } = hooks;
  after(() => calls.push('first'));
  after(() => Promise.reject(new Error('busy')));
  after(async () => void calls.push('last'));
  await assert.rejects(hooks.run(), /busy/);
  await hooks.run();
  assert.deepEqual(calls, ['last', 'first']);
});
