import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerAvailability } from '../../../../../src/main/api/http/server-availability.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function aPresence() {
  const clock = new FakeClock();
  const presence = new ServerAvailability(clock);
  let returns = 0;
  const unsubscribe = presence.onRecovery(() => (returns += 1));
  return { clock, presence, unsubscribe, returns: () => returns };
}

test('the first answer after seconds without one is the return of the server, and no other', async () => {
  const { clock, presence, returns } = aPresence();
  presence.markAvailable();
  presence.markUnavailable();
  await clock.advance(1500);
  presence.markUnavailable();
  await clock.advance(1500);
  assert.equal(returns(), 0);
  presence.markAvailable();
  presence.markAvailable();
  assert.equal(returns(), 1);
});

test('calls that fail by turns wake nobody', async () => {
  const { clock, presence, returns } = aPresence();
  for (let i = 0; i < 10; i += 1) {
    presence.markUnavailable();
    await clock.advance(1000);
    presence.markAvailable();
  }
  assert.equal(returns(), 0);
});

test('who no longer waits is not told', async () => {
  const { clock, presence, unsubscribe, returns } = aPresence();
  presence.markUnavailable();
  await clock.advance(60_000);
  unsubscribe();
  presence.markAvailable();
  assert.equal(returns(), 0);
});
