import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EventCorrelator } from '../../../../src/main/events/event-correlator.ts';
import { toCoreEvent } from '../../../../src/main/events/event-object.ts';
import { podReference } from '../../../../src/main/events/index.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aPod } from '../../../support/pods/pods.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function aCorrelator() {
  const clock = new FakeClock();
  let nanos = 0n;
  const nextNanos = () => (nanos += 1n);
  const correlator = new EventCorrelator(clock, nextNanos);
  const correlate = (message: string, { name = 'web', reason = 'BackOff', fieldPath = '' } = {}) => {
    const object = { ...podReference(aPod({ metadata: { name, uid: `uid-${name}` } })), fieldPath };
    const event = toCoreEvent({ object, type: 'Warning', reason, message }, { component: 'kubelet', host: 'n1' }, clock.now(), nextNanos());
    return correlator.correlate(event);
  };
  return { clock, correlate };
}

test('a repeated event is counted under the name of the first', async () => {
  const { clock, correlate } = aCorrelator();
  const first = correlate('again')!;
  assert.equal(first.patch, null);
  await clock.advance(5_000);
  const second = correlate('again')!;
  assert.deepEqual(second.patch, { count: 2, lastTimestamp: '2026-01-01T00:00:05Z', message: 'again' });
  assert.equal(second.event.metadata.name, first.event.metadata.name);
  assert.deepEqual(
    [second.event.firstTimestamp, second.event.lastTimestamp, second.event.count],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z', 2],
  );
});

test('events that differ in container, reason, message or pod are counted separately', () => {
  const { correlate } = aCorrelator();
  correlate('a');
  for (const [message, fields] of [
    ['b', {}],
    ['a', { fieldPath: 'spec.containers{app}' }],
    ['a', { reason: 'Failed' }],
    ['a', { name: 'db' }],
  ] as const)
    assert.equal(correlate(message, fields)?.patch, null);
});

test('from the tenth event on, events that differ only in their message are combined', () => {
  const { correlate } = aCorrelator();
  for (let index = 1; index < 10; index += 1) assert.equal(correlate(`attempt ${index}`)?.event.message, `attempt ${index}`);
  const tenth = correlate('attempt 10')!;
  assert.equal(tenth.event.message, '(combined from similar events): attempt 10');
  assert.equal(tenth.patch, null);
  const next = correlate('attempt 11')!;
  assert.equal(next.event.metadata.name, tenth.event.metadata.name);
  assert.deepEqual([next.patch?.count, next.patch?.message], [2, '(combined from similar events): attempt 11']);
});

test('similar events that are more than ten minutes apart are not combined', async () => {
  const { clock, correlate } = aCorrelator();
  for (let index = 1; index < 10; index += 1) correlate(`attempt ${index}`);
  await clock.advance(601_000);
  assert.equal(correlate('attempt 10')?.event.message, 'attempt 10');
});

test('a burst about one pod is rate-limited, and dropped events are counted', async () => {
  const { clock, correlate } = aCorrelator();
  const burst = Array.from({ length: 40 }, () => correlate('again'));
  assert.equal(burst.filter((one) => one !== null).length, 25);
  assert.notEqual(correlate('again', { name: 'quiet' }), null);
  await clock.advance(300_000);
  assert.equal(correlate('again')?.patch?.count, 41);
  assert.equal(correlate('again'), null);
});

test('what is remembered of an event does not grow with its message', () => {
  const { correlate } = aCorrelator();
  correlate('warm-up');
  const usedBytes = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = usedBytes();
  for (let index = 0; index < 100; index += 1) correlate(`${index}${'x'.repeat(1_400_000)}`, { name: `pod-${index}` });
  assert.ok(usedBytes() - before < 20 * 1024 * 1024);
});
