/** A reflector after failures: back-off, resumed watches and restarted streams. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { settle } from '../../../../support/fake-clock.ts';
import {
  aReflectorInBackOff,
  aSyncedReflector,
  endOfInitialEvents,
  list,
  pod,
  podsPath,
  query,
} from '../../../../support/api-server/reflector-fixture.ts';

test('a recovered server is watched within a second, and soon again if it is not ready yet', async () => {
  const { api, clock, reflector } = await aReflectorInBackOff(apiError(0, 'Unreachable'));
  await clock.advance(3000);
  assert.equal(api.watches.length, 1);
  api.recover();
  await clock.advance(499);
  assert.equal(api.watches.length, 1);
  api.failNextWatch(podsPath, apiError(500, 'InternalError'));
  api.on('GET', podsPath, list('10', []));
  await clock.advance(1);
  await clock.advance(1200);
  await reflector.close();
  assert.equal(api.watches.length + api.callsTo('GET', podsPath).length, 3);
});

test('a watch that is refused during the recovery of the server is soon restarted', async () => {
  const { api, clock, reflector } = await aReflectorInBackOff(apiError(0, 'Unreachable'));
  const answer = api.deferResponse('GET', podsPath);
  api.failNextWatch(podsPath, apiError(403, 'Forbidden'));
  await clock.advance(12_000);
  assert.equal(api.callsTo('GET', podsPath).length, 1);
  api.recover();
  answer.reject(apiError(403, 'Forbidden'));
  await clock.advance(1199);
  assert.equal(api.watches.length, 1);
  await clock.advance(1);
  assert.equal(api.watches.length, 2);
  await reflector.close();
});

test('a recovered server that throttled the reflector is not asked before the back-off ends', async () => {
  const { api, clock, reflector } = await aReflectorInBackOff(apiError(429, 'TooManyRequests'));
  api.recover();
  await clock.advance(11_999);
  assert.equal(api.watches.length, 1);
  await clock.advance(1);
  assert.equal(api.watches.length, 2);
  await reflector.close();
});

test('a pod that is sent again after a disconnect is not a change', async () => {
  const { api, watch, clock, notifications, reflector } = await aSyncedReflector();
  watch.push('MODIFIED', pod('a', '12'));
  watch.fail(apiError(500, 'InternalError'));
  await settle();
  await clock.advance(2_000);
  const next = await api.nextWatch(podsPath);
  assert.equal(next.call.query?.['resourceVersion'], '12');
  next.push('MODIFIED', pod('a', '12'));
  next.push('DELETED', pod('b', '13'));
  await settle();
  assert.deepEqual(notifications, ['MODIFIED a', 'DELETED b']);
  await reflector.close();
});

test('an expired version restarts the stream, which drops deleted pods and replaces a recreated one', async () => {
  const { api, watch, notifications, reflector } = await aSyncedReflector();
  watch.push('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
  const next = await api.nextWatch(podsPath);
  assert.equal(next.call.query?.['sendInitialEvents'], true);
  next.push('ADDED', pod('a', '90', 'uid-2'));
  next.push('BOOKMARK', endOfInitialEvents('99'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a']);
  assert.equal(reflector.objects.getByName('default', 'a')?.metadata.uid, 'uid-2');
  assert.equal(reflector.objects.get('uid-b'), undefined);
  await reflector.close();
});

test('a truncated event loses nothing: the watch resumes before it', async () => {
  const { api, watch, clock, notifications, reflector } = await aSyncedReflector();
  watch.fail(apiError(0, 'Unreadable', 'ended in the middle of an event'));
  await settle();
  await clock.advance(1_300);
  const next = await api.nextWatch(podsPath);
  assert.equal(next.call.query?.['resourceVersion'], '10');
  next.push('ADDED', pod('c', '11'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  await reflector.close();
});

test('the stream restarts after an outage, so that the objects of another cluster replace the old ones', async () => {
  const { api, watch, clock, notifications, reflector } = await aSyncedReflector();
  watch.fail();
  await settle();
  await clock.advance(1_300);
  const next = await api.nextWatch(podsPath);
  assert.equal(next.call.query?.['sendInitialEvents'], true);
  assert.equal(next.call.query?.['resourceVersion'], undefined);
  next.push('ADDED', pod('a', '12', 'uid-other'));
  next.push('BOOKMARK', endOfInitialEvents('13'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a']);
  assert.equal(reflector.objects.get('uid-a'), undefined);
  await reflector.close();
});

test('a bookmark with an older version restarts the stream', async () => {
  const { api, watch, notifications, reflector } = await aSyncedReflector();
  watch.push('BOOKMARK', { metadata: { resourceVersion: '4' } });
  const next = await api.nextWatch(podsPath);
  assert.equal(watch.isOpen, false);
  assert.equal(next.call.query?.['sendInitialEvents'], true);
  assert.deepEqual(notifications, []);
  await reflector.close();
});

test('the delays grow while the server is unavailable', async () => {
  const { api, watch, clock, lines, reflector } = await aSyncedReflector();
  for (let time = 0; time < 100; time += 1) api.failNextWatch(podsPath, apiError(0, 'Unreachable'));
  watch.fail();
  await settle();
  await clock.advance(600_000);
  const delays = lines.filter(({ msg }) => msg === 'Watch failed').map(({ retryAfterMs }) => retryAfterMs as number);
  assert.deepEqual(delays.slice(0, 7), [1200, 2400, 4800, 9600, 12_000, 12_000, 12_000]);
  assert.ok(delays.length < 60, `${delays.length} tries in 10 min`);
  await reflector.close();
});

test('an idle watch is restarted after three missing bookmarks, and nothing is lost', async () => {
  const { api, clock, watch, notifications, reflector } = await aSyncedReflector(180_000);
  await clock.advance(200_000);
  watch.push('BOOKMARK', { metadata: { resourceVersion: '11' } });
  await settle();
  // The jitter is 0.5 of the half: 225 s.
  await clock.advance(220_000);
  assert.equal(api.watches.length, 1);
  await clock.advance(10_000);
  const next = await api.nextWatch(podsPath);
  assert.equal(query(next)['resourceVersion'], '11');
  next.push('ADDED', pod('c', '12'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  // The next watch has the same timeout.
  await clock.advance(240_000);
  assert.equal(query(await api.nextWatch(podsPath))['resourceVersion'], '12');
  await reflector.close();
});
