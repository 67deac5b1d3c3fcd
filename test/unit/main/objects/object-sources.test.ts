import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CacheBasedSource } from '../../../../src/main/objects/cache-based-source.ts';
import { secretKind } from '../../../../src/main/objects/object-source.ts';
import { WatchBasedSource } from '../../../../src/main/objects/watch-based-source.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

const path = '/api/v1/namespaces/ns/secrets/s';
const watchPath = '/api/v1/namespaces/ns/secrets';
const aSecret = (resourceVersion: string, fields: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'ns', name: 's', uid: 'u1', resourceVersion },
  data: { k: resourceVersion },
  ...fields,
});
const initialEnd = {
  kind: 'Secret',
  apiVersion: 'v1',
  metadata: { resourceVersion: '20', annotations: { 'k8s.io/initial-events-end': 'true' } },
};

function aWatchBasedSource(retentionMs = 0) {
  const clock = new FakeClock();
  const api = new FakeApi().on('GET', path, aSecret('10'));
  const changed: string[][] = [];
  const source = new WatchBasedSource({
    client: api,
    kind: secretKind,
    maxIdleMs: 300_000,
    retentionMs,
    onChanged: (uids) => changed.push([...uids]),
    clock,
    logger: silentLogger,
  });
  return { clock, api, changed, source };
}

test('an object without references is retained for the next pod and then dropped', async () => {
  const { api, clock, source } = aWatchBasedSource(60_000);
  source.addReference('ns', 's', 'a');
  assert.equal(source.has('ns', 's'), false);
  await source.get('ns', 's');
  assert.equal(source.has('ns', 's'), true);
  source.deleteReference('ns', 's', 'a');
  assert.equal(source.has('ns', 's'), true);
  source.addReference('ns', 's', 'b');
  await source.get('ns', 's');
  assert.equal(api.callsTo('GET', path).length, 1);
  source.deleteReference('ns', 's', 'b');
  await clock.advance(120_000);
  assert.equal(source.has('ns', 's'), false);
  await source.close();
});

test('an immutable object is read again for the next pod, because it may have been recreated', async () => {
  const { api, source } = aWatchBasedSource(60_000);
  api.on('GET', path, aSecret('10', { immutable: true }));
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  source.addReference('ns', 's', 'b');
  assert.equal((await source.get('ns', 's')).data?.['k'], '10');
  source.deleteReference('ns', 's', 'a');
  source.deleteReference('ns', 's', 'b');
  api.on('GET', path, { ...aSecret('30', { immutable: true }), metadata: { ...aSecret('30').metadata, uid: 'u2' } });
  source.addReference('ns', 's', 'c');
  assert.equal((await source.get('ns', 's')).data?.['k'], '30');
  await source.close();
});

test('a new pod sees a recreated immutable object while an older pod refers to it, and the older pod is notified', async () => {
  const { api, changed, source } = aWatchBasedSource();
  api.on('GET', path, aSecret('10', { immutable: true }));
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  await source.get('ns', 's');
  assert.equal(api.callsTo('GET', path).length, 1);
  api.on('GET', path, { ...aSecret('30', { immutable: true }), metadata: { ...aSecret('30').metadata, uid: 'u2' } });
  source.addReference('ns', 's', 'b');
  const objects = await Promise.all([source.get('ns', 's'), source.get('ns', 's')]);
  assert.deepEqual(
    objects.map(({ data }) => data?.['k']),
    ['30', '30'],
  );
  await source.get('ns', 's');
  assert.equal(api.callsTo('GET', path).length, 2);
  assert.deepEqual(changed, [['a', 'b']]);
  await source.close();
});

test('an immutable object that was deleted is missing for a new pod, and watched', async () => {
  const { api, source } = aWatchBasedSource();
  api.once('GET', path, aSecret('10', { immutable: true })).on('GET', path, apiError(404, 'NotFound', 'secrets "s" not found'));
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  source.addReference('ns', 's', 'b');
  await assert.rejects(source.get('ns', 's'), { reason: 'NotFound' });
  const watch = await api.nextWatch(watchPath);
  watch.push('ADDED', aSecret('30', { immutable: true }));
  watch.push('BOOKMARK', initialEnd);
  await settle();
  assert.equal((await source.get('ns', 's')).data?.['k'], '30');
  await source.close();
});

test('a pod that joins during the read of an immutable object reads it again, and an unreachable API server changes nothing', async () => {
  const { api, clock, source } = aWatchBasedSource();
  const slow = api.deferResponse('GET', path);
  source.addReference('ns', 's', 'a');
  const first = source.get('ns', 's');
  source.addReference('ns', 's', 'b');
  slow.resolve(aSecret('10', { immutable: true }));
  assert.equal((await first).data?.['k'], '10');
  api.on('GET', path, apiError(0, 'Unreachable'));
  const unreachable = source.get('ns', 's');
  await clock.advance(1000);
  assert.equal((await unreachable).data?.['k'], '10');
  assert.equal(api.watches.length, 0);
  api.on('GET', path, aSecret('30', { immutable: true }));
  assert.equal((await source.get('ns', 's')).data?.['k'], '30');
  await source.close();
});

test('an object without references cannot be read', async () => {
  const { source } = aWatchBasedSource();
  await assert.rejects(source.get('ns', 's'), { reason: 'NotRegistered', message: 'object "ns"/"s" not registered' });
});

test('the watch of an object whose name has a comma selects only that name', async () => {
  const { api, clock, source } = aWatchBasedSource();
  source.addReference('ns', 's,metadata.name!=t', 'a');
  const read = source.get('ns', 's,metadata.name!=t');
  read.catch(() => {});
  await clock.advance(1000);
  const watch = await api.nextWatch(watchPath);
  assert.equal(watch.call.query?.['fieldSelector'], String.raw`metadata.name=s\,metadata.name!\=t`);
  await source.close();
});

test('a secret whose name would lead to another namespace is not requested', async () => {
  const { api, clock, source } = aWatchBasedSource();
  source.addReference('ns', '../../kube-system/secrets/s', 'a');
  const read = source.get('ns', '../../kube-system/secrets/s');
  read.catch(() => {});
  await clock.advance(1000);
  await api.nextWatch(watchPath);
  assert.deepEqual(
    api.calls.filter(({ path }) => path.includes('kube-system')),
    [],
  );
  await source.close();
});

test('an object is available after one response, and a change notifies all pods that refer to it', async () => {
  const { api, changed, source } = aWatchBasedSource();
  source.addReference('ns', 's', 'a');
  source.addReference('ns', 's', 'b');
  assert.equal((await source.get('ns', 's')).data?.['k'], '10');
  const watch = await api.nextWatch(watchPath);
  assert.equal(watch.call.query?.['fieldSelector'], 'metadata.name=s');
  watch.push('ADDED', aSecret('10'));
  watch.push('BOOKMARK', initialEnd);
  await settle();
  assert.deepEqual(changed, []);
  watch.push('MODIFIED', aSecret('21'));
  await settle();
  assert.deepEqual(changed, [['a', 'b']]);
  assert.equal((await source.get('ns', 's')).data?.['k'], '21');
  watch.push('DELETED', aSecret('22'));
  await settle();
  await assert.rejects(source.get('ns', 's'), { reason: 'NotFound', message: 'secret "s" not found' });
  assert.equal(changed.length, 2);
  assert.equal(api.callsTo('GET', path).length, 1);
  await source.close();
});

test('an object with an older version, as in a restored cluster, replaces the cached one', async () => {
  const { api, clock, changed, source } = aWatchBasedSource();
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  const before = await api.nextWatch(watchPath);
  // The first list may be older than the GET.
  before.push('ADDED', aSecret('9'));
  before.push('BOOKMARK', initialEnd);
  before.push('MODIFIED', aSecret('21'));
  await settle();
  assert.equal((await source.get('ns', 's')).data?.['k'], '21');
  before.push('MODIFIED', aSecret('7'));
  await settle();
  await clock.advance(2000);
  const after = await api.nextWatch(watchPath);
  after.push('ADDED', aSecret('7'));
  after.push('BOOKMARK', { ...initialEnd, metadata: { ...initialEnd.metadata, resourceVersion: '8' } });
  await settle();
  assert.equal((await source.get('ns', 's')).data?.['k'], '7');
  after.push('MODIFIED', aSecret('9'));
  await settle();
  assert.equal((await source.get('ns', 's')).data?.['k'], '9');
  assert.equal(changed.length, 3);
  await source.close();
});

test('a pod that refers to a missing object is notified when it is created', async () => {
  const { api, changed, source } = aWatchBasedSource();
  api.on('GET', path, apiError(404, 'NotFound', 'secrets "s" not found'));
  source.addReference('ns', 's', 'a');
  await assert.rejects(source.get('ns', 's'), { reason: 'NotFound', message: 'secret "s" not found' });
  const watch = await api.nextWatch(watchPath);
  watch.push('BOOKMARK', initialEnd);
  await settle();
  assert.deepEqual(changed, []);
  watch.push('ADDED', aSecret('30'));
  await settle();
  assert.deepEqual(changed, [['a']]);
  await source.close();
});

test('a forbidden object is retried at once', async () => {
  const { clock, api, source } = aWatchBasedSource();
  api.once('GET', path, apiError(403, 'Forbidden')).once('GET', path, apiError(403, 'Forbidden'));
  source.addReference('ns', 's', 'a');
  const object = source.get('ns', 's');
  await clock.advance(150);
  assert.equal((await object).data?.['k'], '10');
  await source.close();
});

test('a read fails after one second, and its pod is notified when the object is known', async () => {
  const { clock, api, changed, source } = aWatchBasedSource();
  api.on('GET', path, apiError(0, 'Unreachable'));
  source.addReference('ns', 's', 'a');
  const message = 'failed to sync secret cache: timed out waiting for the condition';
  const rejected = assert.rejects(source.get('ns', 's'), { reason: 'NotSynced', message });
  await clock.advance(1000);
  await rejected;
  const watch = await api.nextWatch(watchPath);
  watch.push('ADDED', aSecret('10'));
  watch.push('BOOKMARK', initialEnd);
  await settle();
  assert.deepEqual(changed, [['a']]);
  assert.equal((await source.get('ns', 's')).data?.['k'], '10');
  await source.close();
});

test('an immutable object is not watched, and the watch of one that becomes immutable stops', async () => {
  const { api, source } = aWatchBasedSource();
  api.once('GET', path, aSecret('10', { immutable: true }));
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  await settle();
  assert.equal(api.watches.length, 0);
  source.deleteReference('ns', 's', 'a');
  source.addReference('ns', 's', 'a');
  const watch = await api.nextWatch(watchPath);
  watch.push('ADDED', aSecret('10'));
  watch.push('BOOKMARK', initialEnd);
  watch.push('MODIFIED', aSecret('21', { immutable: true }));
  await settle();
  assert.equal(watch.isOpen, false);
  assert.equal((await source.get('ns', 's')).data?.['k'], '21');
});

test('the watch ends with the last reference', async () => {
  const { api, source } = aWatchBasedSource();
  source.addReference('ns', 's', 'a');
  source.addReference('ns', 's', 'b');
  const watch = await api.nextWatch(watchPath);
  source.deleteReference('ns', 's', 'a');
  assert.equal(watch.isOpen, true);
  source.deleteReference('ns', 's', 'b');
  assert.equal(watch.isOpen, false);
  await assert.rejects(source.get('ns', 's'), { reason: 'NotRegistered' });
});

test('the watch of an idle object is closed and restarts with the next read', async () => {
  const { clock, api, source } = aWatchBasedSource();
  source.addReference('ns', 's', 'a');
  await source.get('ns', 's');
  const watch = await api.nextWatch(watchPath);
  watch.push('BOOKMARK', initialEnd);
  watch.push('ADDED', aSecret('21'));
  await clock.advance(240_000);
  await source.get('ns', 's');
  await clock.advance(240_000);
  assert.equal(watch.isOpen, true);
  await clock.advance(180_000);
  assert.equal(watch.isOpen, false);
  api.on('GET', path, aSecret('50'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '50');
  await api.nextWatch(watchPath);
  await source.close();
});

function aCaching(ttlMs: (() => number) | null = () => 60_000) {
  const clock = new FakeClock();
  const api = new FakeApi().on('GET', path, aSecret('10'));
  const source = new CacheBasedSource({ client: api, kind: secretKind, ttlMs, clock, logger: silentLogger });
  source.addReference('ns', 's', 'a');
  return { clock, api, source };
}

const queries = (api: FakeApi) => api.calls.map(({ query }) => query);

test('under Cache an expired object is read again from the server’s cache, and an older version is ignored', async () => {
  const { clock, api, source } = aCaching();
  await Promise.all([source.get('ns', 's'), source.get('ns', 's')]);
  await clock.advance(59_000);
  await source.get('ns', 's');
  assert.equal(api.calls.length, 1);
  await clock.advance(1000);
  api.on('GET', path, aSecret('11'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '11');
  await clock.advance(60_000);
  api.on('GET', path, aSecret('9'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '11');
  assert.deepEqual(queries(api), [undefined, { resourceVersion: '0' }, { resourceVersion: '0' }]);
});

test('under Cache a new pod reads the current object, not the server’s cache or an earlier response', async () => {
  const { api, source } = aCaching();
  const slow = api.deferResponse('GET', path);
  const early = source.get('ns', 's');
  await settle();
  source.addReference('ns', 's', 'b');
  api.on('GET', path, aSecret('12'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '12');
  slow.resolve(aSecret('11'));
  assert.equal((await early).data?.['k'], '11');
  assert.equal((await source.get('ns', 's')).data?.['k'], '12');
  assert.deepEqual(queries(api), [undefined, undefined]);
  source.addReference('ns', 's', 'c');
  api.on('GET', path, apiError(503, 'ServiceUnavailable'));
  await assert.rejects(source.get('ns', 's'), { reason: 'ServiceUnavailable' });
});

test('under Cache the cached object is used when the server does not respond, and a deleted one is dropped', async () => {
  const { clock, api, source } = aCaching();
  await source.get('ns', 's');
  await clock.advance(60_000);
  api.on('GET', path, apiError(503, 'ServiceUnavailable'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '10');
  api.on('GET', path, apiError(404, 'NotFound'));
  await assert.rejects(source.get('ns', 's'), { reason: 'NotFound', message: 'secret "s" not found' });
  api.on('GET', path, aSecret('12'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '12');
  source.deleteReference('ns', 's', 'a');
  await assert.rejects(source.get('ns', 's'), { reason: 'NotRegistered' });
});

test('under Get every request reads from the server', async () => {
  const { api, source } = aCaching(null);
  await source.get('ns', 's');
  api.on('GET', path, aSecret('9'));
  assert.equal((await source.get('ns', 's')).data?.['k'], '9');
  api.on('GET', path, apiError(503, 'ServiceUnavailable'));
  await assert.rejects(source.get('ns', 's'), { reason: 'ServiceUnavailable' });
  assert.deepEqual(queries(api), [undefined, undefined, undefined]);
});
