import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsiNodeInitialization } from '../../../../src/main/volumes/index.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger as logger } from '../../../support/logger.ts';

test('the Node is not ready until the CSINode exists, and says why', async () => {
  const clock = new FakeClock();
  let attempts = 0;
  const initialize = async () => {
    attempts += 1;
    if (attempts < 3) throw new Error('csinodes.storage.k8s.io is forbidden');
  };
  const initialization = new CsiNodeInitialization({ csiNode: { initialize }, clock, random: () => 0.5, logger });
  const problems = [initialization.problem];
  const done = initialization.run(() => problems.push(initialization.problem), new AbortController().signal);
  await clock.advance(1000);
  await done;
  const failed = 'failed to initialize CSINode: csinodes.storage.k8s.io is forbidden';
  assert.deepEqual(problems, ['CSINode is not yet initialized', failed, failed, null]);
});

test('a kubelet that stops does not try again', async () => {
  const stop = new AbortController();
  const initialize = () => Promise.reject(new Error('no answer'));
  const initialization = new CsiNodeInitialization({ csiNode: { initialize }, clock: new FakeClock(), random: () => 0.5, logger });
  const done = initialization.run(() => {}, stop.signal);
  stop.abort(new Error('stop'));
  await assert.rejects(done, { message: 'stop' });
});
