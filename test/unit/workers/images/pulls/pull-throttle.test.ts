import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PullThrottle } from '../../../../../src/workers/images/pulls/pull-throttle.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function aThrottle(perSecond: number, burst: number) {
  const clock = new FakeClock();
  const throttle = new PullThrottle({ perSecond, burst, clock });
  const accepted = (calls: number) => Array.from({ length: calls }, () => throttle.tryAccept()).filter(Boolean).length;
  return { clock, throttle, accepted };
}

test('a burst is accepted, then the rate', async () => {
  const { clock, accepted } = aThrottle(1, 3);
  assert.equal(accepted(5), 3);
  await clock.advance(2000);
  assert.equal(accepted(5), 2);
});

test('a changed rate counts from now on, and a smaller burst at once', async () => {
  const { clock, throttle, accepted } = aThrottle(1, 10);
  throttle.setRate({ perSecond: 2, burst: 3 });
  assert.equal(accepted(10), 3);
  await clock.advance(1000);
  assert.equal(accepted(10), 2);
});

test('a rate that is switched off accepts everything, and on again begins with a burst', () => {
  const { throttle, accepted } = aThrottle(1, 1);
  throttle.setRate({ perSecond: 0, burst: 5 });
  assert.equal(accepted(100), 100);
  throttle.setRate({ perSecond: 1, burst: 5 });
  assert.equal(accepted(100), 5);
});
