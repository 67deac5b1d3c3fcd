import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActiveDeadlines } from '../../../../../src/main/pods/termination/active-deadlines.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aPod } from '../../../../support/pods/pods.ts';

const startTime = '2026-01-01T00:00:00Z';

function aWatch() {
  const clock = new FakeClock(Date.parse(startTime));
  const exceeded: PodUID[] = [];
  const deadlines = new ActiveDeadlines({ clock, onExceeded: (uid) => exceeded.push(uid) });
  const watch = (seconds: number | undefined, since: string | undefined = startTime) =>
    deadlines.watch(aPod({ spec: seconds === undefined ? {} : { activeDeadlineSeconds: seconds } }), since);
  return { clock, exceeded, deadlines, watch };
}

test('an exceeded deadline is reported once', async () => {
  const { clock, exceeded, watch } = aWatch();
  watch(60);
  watch(60);
  await clock.advance(59_999);
  assert.deepEqual(exceeded, []);
  await clock.advance(1);
  await clock.advance(100_000);
  assert.deepEqual(exceeded, ['uid-web']);
});

test('a shortened deadline replaces the timer, and an exceeded one is reported at once', async () => {
  const { clock, exceeded, watch } = aWatch();
  watch(3600);
  await clock.advance(10_000);
  watch(20);
  await clock.advance(10_000);
  assert.deepEqual(exceeded, ['uid-web']);
  watch(5);
  assert.deepEqual(exceeded, ['uid-web', 'uid-web']);
});

test('a pod that has no deadline, has not started or is forgotten is not reported', async () => {
  const { clock, exceeded, deadlines, watch } = aWatch();
  watch(undefined);
  deadlines.watch(aPod({ spec: { activeDeadlineSeconds: 1 } }), undefined);
  watch(60);
  deadlines.forget('uid-web' as PodUID);
  await clock.advance(100_000);
  assert.deepEqual(exceeded, []);
});
