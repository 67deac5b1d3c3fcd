import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLog, podReference } from '../../../../src/main/events/index.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';

function anEventLog() {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const events = new EventLog({ logger, clock });
  const record = (name = 'web', type: 'Normal' | 'Warning' = 'Warning') =>
    events.record({ object: podReference(aPod({ metadata: { name } })), type, reason: 'BackOff', message: 'again' });
  return { clock, lines, record };
}

test('an event is a log line with its object, reason and message', () => {
  const { lines, record } = anEventLog();
  record();
  const { msg, object, kind, type, reason, eventMessage } = lines[0]!;
  assert.deepEqual(
    { msg, object, kind, type, reason, eventMessage },
    {
      msg: 'Event occurred',
      object: 'default/web',
      kind: 'Pod',
      type: 'Warning',
      reason: 'BackOff',
      eventMessage: 'again',
    },
  );
});

test('a burst about one object is rate-limited to one event every five minutes', async () => {
  const { clock, lines, record } = anEventLog();
  for (let time = 0; time < 40; time += 1) record();
  assert.equal(lines.length, 25);
  await clock.advance(300_000);
  for (let time = 0; time < 5; time += 1) record();
  assert.equal(lines.length, 26);
});

test('a burst about one object does not silence another', () => {
  const { lines, record } = anEventLog();
  for (let time = 0; time < 40; time += 1) record('noisy');
  record('quiet');
  record('noisy', 'Normal');
  assert.deepEqual(
    lines.slice(25).map(({ object, type }) => [object, type]),
    [
      ['default/quiet', 'Warning'],
      ['default/noisy', 'Normal'],
    ],
  );
});
