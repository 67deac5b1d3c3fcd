import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerPresence } from '../../../../../src/main/api/http/server-availability.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function aPresence() {
  const clock = new FakeClock();
  const presence = new ServerPresence(clock);
  let returns = 0;
  const unsubscribe = presence.onReturn(() => (returns += 1));
  return { clock, presence, unsubscribe, returns: () => returns };
}

test('the first answer after seconds without one is the return of the server, and no other', async () => {
  const { clock, presence, returns } = aPresence();
  presence.answered();
  presence.failed();
  await clock.advance(1500);
  presence.failed();
  await clock.advance(1500);
  assert.equal(returns(), 0);
  presence.answered();
  presence.answered();
  assert.equal(returns(), 1);
});

test('calls that fail by turns wake nobody', async () => {
  const { clock, presence, returns } = aPresence();
  for (let i = 0; i < 10; i += 1) {
    presence.failed();
    await clock.advance(1000);
    presence.answered();
  }
  assert.equal(returns(), 0);
});

test('who no longer waits is not told', async () => {
  const { clock, presence, unsubscribe, returns } = aPresence();
  presence.failed();
  await clock.advance(60_000);
  unsubscribe();
  presence.answered();
  assert.equal(returns(), 0);
});
