import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../../src/main/api/index.ts';
import { Reflector } from '../../../../../src/main/api/reflector/reflector.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { apiError, FakeApi } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import {
  aReflector,
  aSyncedReflector,
  endOfInitialEvents,
  item,
  list,
  pod,
  podsPath,
  query,
} from '../../../../support/api-server/reflector-fixture.ts';

test('pods are streamed and delivered when the initial events end', async () => {
  const { api, notifications, reflector } = aReflector();
  const watch = await api.nextWatch(podsPath);
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
  const { watch, calls, reflector } = await aSyncedReflector();
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
    new FakeApi().failNextWatch(podsPath, apiError(422, 'Invalid')).on('GET', podsPath, list('7', [item('a', '5')])),
  );
  await api.nextWatch(podsPath);
  await clock.advance(0);
  assert.deepEqual(reflector.objects.get('uid-a'), pod('a', '5'));
  await reflector.close();
});

test('a server that refuses to stream is listed page by page, then watched from the version of the list', async () => {
  const api = new FakeApi()
    .failNextWatch(podsPath, apiError(422, 'Invalid'))
    .once('GET', podsPath, list('7', [item('a', '5')], 'token'))
    .once('GET', podsPath, list('7', [item('b', '6')]));
  const { notifications, reflector } = aReflector(api);
  const watch = await api.nextWatch(podsPath);
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

test('a page that is too large for one response is read again in smaller pages', async () => {
  const tooLarge = new ApiError(0, 'TooLarge', 'the answer is larger than 67108864 bytes');
  const api = new FakeApi().failNextWatch(podsPath, apiError(422, 'Invalid')).once('GET', podsPath, list('7', [item('a', '5')], 'token'));
  for (let shrinks = 0; shrinks < 5; shrinks += 1) api.once('GET', podsPath, tooLarge);
  api.once('GET', podsPath, list('7', [item('b', '6')], 'next')).once('GET', podsPath, list('7', [item('c', '6')]));
  const { notifications, reflector } = aReflector(api);
  await api.nextWatch(podsPath);
  assert.deepEqual(notifications, ['REPLACE a b c']);
  assert.deepEqual(
    api.calls.map(({ query: { limit, continue: next } = {} }) => `${limit} ${next}`),
    ['500 undefined', '500 token', '125 token', '32 token', '8 token', '2 token', '1 token', '1 next'],
  );
  await reflector.close();
});

test('an object that was too large to be read keeps its last version, and costs no other object', async () => {
  const { watch, notifications, lines, reflector } = await aSyncedReflector();
  const problem = 'it has 20 bytes in JSON, more than 10';
  const { metadata } = pod('a', '11');
  watch.push('MODIFIED', { metadata }, problem);
  watch.push('ADDED', { metadata: pod('new', '12').metadata }, problem);
  watch.push('MODIFIED', pod('b', '13'));
  await settle();
  assert.deepEqual(notifications, ['MODIFIED b']);
  assert.deepEqual(reflector.objects.get('uid-a'), pod('a', '5'));
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'Object of the API server skipped').map(({ name, err }) => [name, err]),
    [
      ['a', problem],
      ['new', problem],
    ],
  );
  watch.push('DELETED', { metadata: { ...metadata, resourceVersion: '14' } }, problem);
  await settle();
  assert.deepEqual(notifications, ['MODIFIED b', 'DELETED a']);
  await reflector.close();
});

test('a continue token that expires is followed by a list without pages', async () => {
  const api = new FakeApi()
    .failNextWatch(podsPath, apiError(422, 'Invalid'))
    .once('GET', podsPath, list('7', [item('a', '5')], 'token'))
    .once('GET', podsPath, apiError(410, 'Expired'))
    .once('GET', podsPath, list('9', [item('c', '8')]));
  const { notifications, reflector } = aReflector(api);
  const watch = await api.nextWatch(podsPath);
  assert.deepEqual(notifications, ['REPLACE c']);
  assert.equal(watch.call.query?.['resourceVersion'], '9');
  await reflector.close();
});

test('a response that is not a list does not count as an empty list', async () => {
  const api = new FakeApi().failNextWatch(podsPath, apiError(422, 'Invalid')).once('GET', podsPath, { message: 'welcome to the proxy' });
  const { notifications, clock, reflector } = aReflector(api);
  await settle();
  assert.deepEqual(notifications, []);
  assert.equal(reflector.hasSynced(), false);
  await clock.advance(2_000);
  assert.equal((await api.nextWatch(podsPath)).call.query?.['sendInitialEvents'], true);
  await reflector.close();
});

test('initial events that never end fall back to a list', async () => {
  const api = new FakeApi().on('GET', podsPath, list('7', [item('a', '5')]));
  const { notifications, clock, reflector } = aReflector(api);
  const watch = await api.nextWatch(podsPath);
  watch.push('ADDED', pod('a', '5'));
  await clock.advance(31_000);
  assert.equal(watch.isOpen, false);
  assert.deepEqual(notifications, ['REPLACE a']);
  await reflector.close();
});

test('an event that was held back is no version that went back, and not the last one', async () => {
  const { api, watch, clock, notifications, reflector } = await aSyncedReflector();
  watch.push('MODIFIED', pod('b', '13'));
  watch.pushLate('MODIFIED', pod('a', '12'));
  await settle();
  assert.deepEqual(notifications, ['MODIFIED b', 'MODIFIED a']);
  watch.end();
  await clock.advance(2_000);
  assert.equal((await api.nextWatch(podsPath)).call.query?.['resourceVersion'], '13');
  await reflector.close();
});

test('a watch closed by the server resumes at the last version, including bookmarks', async () => {
  const { api, watch, clock, notifications, reflector } = await aSyncedReflector();
  await clock.advance(400_000);
  watch.push('MODIFIED', pod('a', '12'));
  watch.push('BOOKMARK', { metadata: { resourceVersion: '40' } });
  watch.end();
  const next = await api.nextWatch(podsPath);
  assert.equal(next.call.query?.['resourceVersion'], '40');
  assert.equal(next.call.query?.['timeoutSeconds'], 450);
  assert.deepEqual(notifications, ['MODIFIED a']);
  await reflector.close();
});

test('an object without a UID is logged and ignored, and the watch continues', async () => {
  const { watch, notifications, lines, reflector } = await aSyncedReflector();
  watch.push('ADDED', { metadata: { name: 'ghost', resourceVersion: '11' } });
  watch.push('ADDED', 'not an object');
  watch.push('ADDED', pod('c', '12'));
  await settle();
  assert.deepEqual(notifications, ['ADDED c']);
  assert.equal(lines.find(({ msg }) => msg === 'An object without a name or a UID is ignored')?.['name'], 'ghost');
  await reflector.close();
});

test('a closed reflector notifies no handler, in whichever state it was', async () => {
  const syncing = aReflector();
  await syncing.api.nextWatch(podsPath);
  await syncing.reflector.close();
  const waiting = aReflector(new FakeApi().failNextWatch(podsPath, apiError(0, 'Unreachable')));
  await settle();
  await waiting.reflector.close();
  assert.deepEqual([...syncing.notifications, ...waiting.notifications], []);
});

test('an error thrown by a handler does not end the watch', async () => {
  const api = new FakeApi();
  const { logger, lines } = aLogger();
  let tries = 0;
  const boom = () => {
    tries += 1;
    throw new Error('boom');
  };
  const reflector = Reflector.start<Pod>({
    client: api,
    path: podsPath,
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    handler: { onReplace: boom, onChange: boom },
    clock: new FakeClock(),
    logger,
  });
  const watch = await api.nextWatch(podsPath);
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
  const record = (type: string, { metadata: { name, resourceVersion } }: Pod) => notifications.push(`${type} ${name} ${resourceVersion}`);
  const reflector = Reflector.start<Pod>({
    client: api,
    path: podsPath,
    trafficClass: 'pods',
    apiVersion: 'v1',
    kind: 'Pod',
    accept: (object) => {
      if (object.metadata.labels?.['throws']) throw new Error('boom');
      return object.metadata.labels?.['bad'] ? null : object;
    },
    handler: {
      onReplace: (pods) => pods.forEach((one) => record('REPLACE', one)),
      onChange: (changes) => changes.forEach(({ type, object }) => record(type, object)),
    },
    clock: new FakeClock(),
    logger: aLogger().logger,
  });
  const bad = (name: string, version: string, label = 'bad') => {
    const { metadata, ...rest } = pod(name, version);
    return { ...rest, metadata: { ...metadata, labels: { [label]: 'yes' } } };
  };
  const watch = await api.nextWatch(podsPath);
  watch.push('ADDED', pod('a', '5'));
  watch.push('ADDED', bad('b', '6'));
  watch.push('BOOKMARK', endOfInitialEvents('10'));
  watch.push('MODIFIED', bad('a', '11'));
  watch.push('ADDED', bad('c', '12', 'throws'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a 5']);
  watch.fail(apiError(410, 'Expired'));
  const next = await api.nextWatch(podsPath);
  next.push('ADDED', bad('a', '11'));
  next.push('BOOKMARK', endOfInitialEvents('13'));
  next.push('DELETED', bad('a', '14'));
  await settle();
  assert.deepEqual(notifications, ['REPLACE a 5', 'REPLACE a 5', 'DELETED a 14']);
  await reflector.close();
});
