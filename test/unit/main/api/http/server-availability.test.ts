import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerAvailability } from '../../../../../src/main/api/http/server-availability.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function anAvailability() {
  const clock = new FakeClock();
  const availability = new ServerAvailability(clock);
  let recoveries = 0;
  const unsubscribe = availability.onRecovery(() => (recoveries += 1));
  return { clock, availability, unsubscribe, recoveries: () => recoveries };
}

test('only the first response after an outage of some seconds is a recovery', async () => {
  const { clock, availability, recoveries } = anAvailability();
  availability.markAvailable();
  availability.markUnavailable();
  await clock.advance(1500);
  availability.markUnavailable();
  await clock.advance(1500);
  assert.equal(recoveries(), 0);
  availability.markAvailable();
  availability.markAvailable();
  assert.equal(recoveries(), 1);
});

test('intermittent failures do not notify listeners', async () => {
  const { clock, availability, recoveries } = anAvailability();
  for (let i = 0; i < 10; i += 1) {
    availability.markUnavailable();
    await clock.advance(1000);
    availability.markAvailable();
  }
  assert.equal(recoveries(), 0);
});

test('an unsubscribed listener is not notified', async () => {
  const { clock, availability, unsubscribe, recoveries } = anAvailability();
  availability.markUnavailable();
  await clock.advance(60_000);
  unsubscribe();
  availability.markAvailable();
  assert.equal(recoveries(), 0);
});
