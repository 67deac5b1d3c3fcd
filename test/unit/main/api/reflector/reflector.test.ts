import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldEquals } from '../../../../../src/main/api/field-selector.ts';
import type { ObjectChange } from '../../../../../src/main/api/reflector/object-store.ts';
import { Reflector } from '../../../../../src/main/api/reflector/reflector.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { apiError, FakeApi, type FakeWatch } from '../../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const path = '/api/v1/pods';
const pod = (name: string, resourceVersion: string, uid = `uid-${name}`) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid, resourceVersion },
  spec: { containers: [], fromTheFuture: true },
});
const item = (name: string, resourceVersion: string) => {
  const { apiVersion: _, kind: __, ...rest } = pod(name, resourceVersion);
  return rest;
};
const list = (resourceVersion: string, items: unknown[], next?: string) => ({
  kind: 'PodList',
  metadata: { resourceVersion, continue: next },
  items,
});
const endOfInitialEvents = (resourceVersion: string) => ({
  kind: 'Pod',
  metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } },
});

function aReflector(api = new FakeApi(), idleTimeoutMs?: number) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const notifications: string[] = [];
  const calls: (readonly ObjectChange<Pod>[])[] = [];
  const reflector = Reflector.start<Pod>({
    client: api,
    path,
    fieldSelector: fieldEquals('spec.nodeName', 'n1'),
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    handler: {
      onReplace: (pods) => void notifications.push(`REPLACE ${pods.map(({ metadata }) => metadata.name).join(' ')}`),
      onChange: (changes) => {
        calls.push(changes);
        notifications.push(...changes.map(({ type, object }) => `${type} ${object.metadata.name}`));
      },
    },
    clock,
    logger,
    random: () => 0.5,
  });
  return { api, clock, lines, notifications, calls, reflector };
}

/** Returns a reflector that has streamed the pods `a` and `b` at version 10 and is watching. */
async function aSynced(idleTimeoutMs?: number) {
  const parts = aReflector(new FakeApi(), idleTimeoutMs);
  const watch = await parts.api.nextWatch(path);
  watch.push('ADDED', pod('a', '5'));
  watch.push('ADDED', pod('b', '3'));
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  await settle();
  parts.notifications.length = 0;
  return { ...parts, watch };
}

const query = (watch: FakeWatch) => ({ ...watch.call.query });

/** Returns a reflector in its longest back-off, after several failures: 12 s with half of the jitter. */
async function aWaiting(refusal: Error) {
  const parts = aReflector(new FakeApi());
  (await parts.api.nextWatch(path)).fail();
  await settle();
  for (const waitMs of [1200, 2400, 4800, 9600]) {
    parts.api.refuseWatch(path, refusal);
    await parts.clock.advance(waitMs);
  }
  return parts;
}

test('a recovered server is watched within a second, and soon again if it is not ready yet', async () => {
  const { api, clock, reflector } = await aWaiting(apiError(0, 'Unreachable'));
  await clock.advance(3000);
  assert.equal(api.watches.length, 1);
  api.comeBack();
  await clock.advance(499);
  assert.equal(api.watches.length, 1);
  api.refuseWatch(path, apiError(500, 'InternalError'));
  api.on('GET', path, list('10', []));
  await clock.advance(1);
  await clock.advance(1200);
  await reflector.close();
  assert.equal(api.watches.length + api.callsTo('GET', path).length, 3);
});

test('a watch that is refused during the recovery of the server is soon restarted', async () => {
  const { api, clock, reflector } = await aWaiting(apiError(0, 'Unreachable'));
  const answer = api.hold('GET', path);
  api.refuseWatch(path, apiError(403, 'Forbidden'));
  await clock.advance(12_000);
  assert.equal(api.callsTo('GET', path).length, 1);
  api.comeBack();
  answer.reject(apiError(403, 'Forbidden'));
  await clock.advance(1199);
  assert.equal(api.watches.length, 1);
  await clock.advance(1);
  assert.equal(api.watches.length, 2);
  await reflector.close();
});

test('a recovered server that throttled the reflector is not asked before the back-off ends', async () => {
  const { api, clock, reflector } = await aWaiting(apiError(429, 'TooManyRequests'));
  api.comeBack();
  await clock.advance(11_999);
  assert.equal(api.watches.length, 1);
  await clock.advance(1);
  assert.equal(api.watches.length, 2);
  await reflector.close();
});

test('pods are streamed and delivered when the initial events end', async () => {
  const { api, notifications, reflector } = aReflector();
  const watch = await api.nextWatch(path);
  assert.deepEqual(query(watch), {
    fieldSelector: 'spec.nodeName=n1',
    allowWatchBookmarks: true,
    timeoutSeconds: 450,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  });
  watch.push('ADDED', pod('a', '5'));
  watch.push('ADDED', pod('b', '3'));
  watch.push('BOOKMARK', { metadata: { resourceVersion: '9' } });
  watch.push('DELETED', pod('b', '9'));
  await settle();
  assert.equal(reflector.hasSynced(), false);
  assert.deepEqual(notifications, []);
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  await settle();
  assert.equal(reflector.hasSynced(), true);
  assert.deepEqual(notifications, ['REPLACE a']);
  watch.push('MODIFIED', pod('a', '11'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a', 'MODIFIED a']);
  await reflector.close();
});

test('a burst of pods in one event-loop iteration is one call of the handler', async () => {
  const { watch, calls, reflector } = await aSynced();
  for (let index = 0; index < 250; index += 1) watch.push('ADDED', pod(`p${index}`, `${100 + index}`));
  await settle();
  assert.deepEqual(
    calls.map((changes) => changes.length),
    [250],
  );
  await reflector.close();
});

test('unknown fields stay, and a list item gets its apiVersion and kind', async () => {
  const { reflector, api, clock } = aReflector(
    new FakeApi().refuseWatch(path, apiError(422, 'Invalid')).on('GET', path, list('7', [item('a', '5')])),
  );
  await api.nextWatch(path);
  await clock.advance(0);
  assert.deepEqual(reflector.objects.get('uid-a'), pod('a', '5'));
  await reflector.close();
});

test('a server that refuses to stream is listed page by page, then watched from the version of the list', async () => {
  const api = new FakeApi()
    .refuseWatch(path, apiError(422, 'Invalid'))
    .once('GET', path, list('7', [item('a', '5')], 'token'))
    .once('GET', path, list('7', [item('b', '6')]));
  const { notifications, reflector } = aReflector(api);
  const watch = await api.nextWatch(path);
  assert.deepEqual(notifications, ['REPLACE a b']);
  assert.deepEqual(
    api.calls.map((call) => [call.query?.['limit'], call.query?.['continue'], call.query?.['fieldSelector']]),
    [
      [500, undefined, 'spec.nodeName=n1'],
      [500, 'token', 'spec.nodeName=n1'],
    ],
  );
  assert.equal(watch.call.query?.['resourceVersion'], '7');
  assert.equal(watch.call.query?.['sendInitialEvents'], undefined);
  await reflector.close();
});

test('a continue token that expires is followed by a list without pages', async () => {
  const api = new FakeApi()
    .refuseWatch(path, apiError(422, 'Invalid'))
    .once('GET', path, list('7', [item('a', '5')], 'token'))
    .once('GET', path, apiError(410, 'Expired'))
    .once('GET', path, list('9', [item('c', '8')]));
  const { notifications, reflector } = aReflector(api);
  const watch = await api.nextWatch(path);
  assert.deepEqual(notifications, ['REPLACE c']);
  assert.equal(watch.call.query?.['resourceVersion'], '9');
  await reflector.close();
});

test('a response that is not a list does not count as an empty list', async () => {
  const api = new FakeApi().refuseWatch(path, apiError(422, 'Invalid')).once('GET', path, { message: 'welcome to the proxy' });
  const { notifications, clock, reflector } = aReflector(api);
  await settle();
  assert.deepEqual(notifications, []);
  assert.equal(reflector.hasSynced(), false);
  await clock.advance(2_000);
  assert.equal((await api.nextWatch(path)).call.query?.['sendInitialEvents'], true);
  await reflector.close();
});

test('initial events that never end fall back to a list', async () => {
  const api = new FakeApi().on('GET', path, list('7', [item('a', '5')]));
  const { notifications, clock, reflector } = aReflector(api);
  const watch = await api.nextWatch(path);
  watch.push('ADDED', pod('a', '5'));
  await clock.advance(31_000);
  assert.equal(watch.isOpen, false);
  assert.deepEqual(notifications, ['REPLACE a']);
  await reflector.close();
});

test('a watch closed by the server resumes at the last version, including bookmarks', async () => {
  const { api, watch, clock, notifications, reflector } = await aSynced();
  await clock.advance(400_000);
  watch.push('MODIFIED', pod('a', '12'));
  watch.push('BOOKMARK', { metadata: { resourceVersion: '40' } });
  watch.end();
  const next = await api.nextWatch(path);
  assert.equal(next.call.query?.['resourceVersion'], '40');
  assert.equal(next.call.query?.['timeoutSeconds'], 450);
  assert.deepEqual(notifications, ['MODIFIED a']);
  await reflector.close();
});

test('a pod that is sent again after a disconnect is not a change', async () => {
  const { api, watch, clock, notifications, reflector } = await aSynced();
  watch.push('MODIFIED', pod('a', '12'));
  watch.fail(apiError(500, 'InternalError'));
  await settle();
  await clock.advance(2_000);
  const next = await api.nextWatch(path);
  assert.equal(next.call.query?.['resourceVersion'], '12');
  next.push('MODIFIED', pod('a', '12'));
  next.push('DELETED', pod('b', '13'));
  await settle();
  assert.deepEqual(notifications, ['MODIFIED a', 'DELETED b']);
  await reflector.close();
});

test('an expired version restarts the stream, which drops deleted pods and replaces a recreated one', async () => {
  const { api, watch, notifications, reflector } = await aSynced();
  watch.push('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
  const next = await api.nextWatch(path);
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
  const { api, watch, clock, notifications, reflector } = await aSynced();
  watch.fail(apiError(0, 'Unreadable', 'ended in the middle of an event'));
  await settle();
  await clock.advance(1_300);
  const next = await api.nextWatch(path);
  assert.equal(next.call.query?.['resourceVersion'], '10');
  next.push('ADDED', pod('c', '11'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  await reflector.close();
});

test('a server that was away is read afresh, and another cluster is notifications as such', async () => {
  const { api, watch, clock, notifications, reflector } = await aSynced();
  watch.fail();
  await settle();
  await clock.advance(1_300);
  const next = await api.nextWatch(path);
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
  const { api, watch, notifications, reflector } = await aSynced();
  watch.push('BOOKMARK', { metadata: { resourceVersion: '4' } });
  const next = await api.nextWatch(path);
  assert.equal(watch.isOpen, false);
  assert.equal(next.call.query?.['sendInitialEvents'], true);
  assert.deepEqual(notifications, []);
  await reflector.close();
});

test('the delays grow while the server is unavailable', async () => {
  const { api, watch, clock, lines, reflector } = await aSynced();
  for (let time = 0; time < 100; time += 1) api.refuseWatch(path, apiError(0, 'Unreachable'));
  watch.fail();
  await settle();
  await clock.advance(600_000);
  const delays = lines.filter(({ msg }) => msg === 'Watch failed').map(({ retryAfterMs }) => retryAfterMs as number);
  assert.deepEqual(delays.slice(0, 7), [1200, 2400, 4800, 9600, 12_000, 12_000, 12_000]);
  assert.ok(delays.length < 60, `${delays.length} tries in 10 min`);
  await reflector.close();
});

test('an object without a UID is logged and ignored, and the watch continues', async () => {
  const { watch, notifications, lines, reflector } = await aSynced();
  watch.push('ADDED', { metadata: { name: 'ghost', resourceVersion: '11' } });
  watch.push('ADDED', 'not an object');
  watch.push('ADDED', pod('c', '12'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  assert.equal(lines.find(({ msg }) => msg === 'An object without a name or a UID is ignored')?.['name'], 'ghost');
  await reflector.close();
});

test('an idle watch is restarted after three missing bookmarks, and nothing is lost', async () => {
  const { api, clock, watch, notifications, reflector } = await aSynced(180_000);
  await clock.advance(200_000);
  watch.push('BOOKMARK', { metadata: { resourceVersion: '11' } });
  await settle();
  // The jitter is 0.5 of the half: 225 s.
  await clock.advance(220_000);
  assert.equal(api.watches.length, 1);
  await clock.advance(10_000);
  const next = await api.nextWatch(path);
  assert.equal(query(next)['resourceVersion'], '11');
  next.push('ADDED', pod('c', '12'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  // The next watch has the same timeout.
  await clock.advance(240_000);
  assert.equal(query(await api.nextWatch(path))['resourceVersion'], '12');
  await reflector.close();
});

test('a closed reflector notifies no handler, in whichever state it was', async () => {
  const syncing = aReflector();
  await syncing.api.nextWatch(path);
  await syncing.reflector.close();
  const waiting = aReflector(new FakeApi().refuseWatch(path, apiError(0, 'Unreachable')));
  await settle();
  await waiting.reflector.close();
  assert.deepEqual([...syncing.notifications, ...waiting.notifications], []);
});

test('a handler that throws has been notifications, and the watch goes on', async () => {
  const api = new FakeApi();
  const { logger, lines } = aLogger();
  let tries = 0;
  const boom = () => {
    tries += 1;
    throw new Error('boom');
  };
  const reflector = Reflector.start<Pod>({
    client: api,
    path,
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    handler: { onReplace: boom, onChange: boom },
    clock: new FakeClock(),
    logger,
  });
  const watch = await api.nextWatch(path);
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  watch.push('ADDED', pod('a', '11'));
  await settle();
  assert.deepEqual([tries, reflector.hasSynced(), watch.isOpen, api.watches.length], [2, true, true, 1]);
  assert.equal(lines.filter(({ msg }) => msg === 'Contained a fault').length, 2);
  await reflector.close();
});

test('the last accepted version of an object stays until the object is deleted', async () => {
  const api = new FakeApi();
  const notifications: string[] = [];
  const tell = (type: string, { metadata: { name, resourceVersion } }: Pod) => notifications.push(`${type} ${name} ${resourceVersion}`);
  const reflector = Reflector.start<Pod>({
    client: api,
    path,
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    accept: (object) => {
      if (object.metadata.labels?.['throws']) throw new Error('boom');
      return object.metadata.labels?.['bad'] ? null : object;
    },
    handler: {
      onReplace: (pods) => pods.forEach((one) => tell('REPLACE', one)),
      onChange: (changes) => changes.forEach(({ type, object }) => tell(type, object)),
    },
    clock: new FakeClock(),
    logger: aLogger().logger,
  });
  const bad = (name: string, version: string, label = 'bad') => {
    const { metadata, ...rest } = pod(name, version);
    return { ...rest, metadata: { ...metadata, labels: { [label]: 'yes' } } };
  };
  const watch = await api.nextWatch(path);
  watch.push('ADDED', pod('a', '5'));
  watch.push('ADDED', bad('b', '6'));
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  watch.push('MODIFIED', bad('a', '11'));
  watch.push('ADDED', bad('c', '12', 'throws'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a 5']);
  watch.fail(apiError(410, 'Expired'));
  const next = await api.nextWatch(path);
  next.push('ADDED', bad('a', '11'));
  next.push('BOOKMARK', endOfInitialEvents('13'));
  next.push('DELETED', bad('a', '14'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a 5', 'REPLACE a 5', 'DELETED a 14']);
  await reflector.close();
});
