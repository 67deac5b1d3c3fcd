import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeStore, type StoredNode } from '../../../../src/main/node/node-store.ts';
import { FakeApi } from '../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

const node = (resourceVersion: string, uid = 'u1'): StoredNode => ({ metadata: { name: 'n1', uid, resourceVersion } });
const ended = (resourceVersion: string) => ({ metadata: { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } } });

async function aStore(t: { after(end: () => Promise<void>): void }) {
  const [api, clock] = [new FakeApi(), new FakeClock()];
  const store = NodeStore.start({ client: api, nodeName: 'n1', clock, logger: silentLogger, random: () => 0 });
  t.after(() => store.close());
  const changes: string[] = [];
  store.onChange((change) => changes.push(`${change} ${store.get()?.metadata.uid ?? '-'}@${store.get()?.metadata.resourceVersion ?? '-'}`));
  return { api, clock, store, changes, watch: await api.nextWatch('/api/v1/nodes') };
}

test('the node is known when the server has said all there is, also when it has none', async (t) => {
  const { store, watch } = await aStore(t);
  assert.equal(watch.call.query?.['fieldSelector'], 'metadata.name=n1');
  assert.equal(store.hasSynced(), false);
  watch.push('BOOKMARK', ended('5'));
  await settle();
  await store.untilSynced();
  assert.deepEqual([store.hasSynced(), store.get()], [true, null]);
});

test('what the server answered to our own write goes before an older event, and after a newer one', async (t) => {
  const { store, watch, changes } = await aStore(t);
  watch.push('ADDED', node('5'));
  watch.push('BOOKMARK', ended('5'));
  await settle();
  store.observe(node('7'));
  watch.push('MODIFIED', node('6'));
  await settle();
  watch.push('MODIFIED', node('9'));
  await settle();
  store.observe(node('8'));
  assert.deepEqual(changes, ['changed u1@5', 'changed u1@7', 'changed u1@9']);
});

test('an answer that comes late does not bring a deleted node back', async (t) => {
  const { store, watch, changes } = await aStore(t);
  watch.push('ADDED', node('5'));
  watch.push('BOOKMARK', ended('5'));
  await settle();
  watch.push('DELETED', node('8'));
  await settle();
  store.observe(node('7'));
  assert.deepEqual(changes, ['changed u1@5', 'deleted -@-']);
});

test('a node that was made again under its name is another', async (t) => {
  const { watch, changes, store } = await aStore(t);
  watch.push('ADDED', node('5'));
  watch.push('BOOKMARK', ended('5'));
  await settle();
  watch.push('DELETED', node('8'));
  watch.push('ADDED', node('9', 'u2'));
  await settle();
  store.observe(node('10', 'u1'));
  assert.deepEqual(changes, ['changed u1@5', 'deleted -@-', 'changed u2@9']);
});

test('a node of a cluster that began anew is taken although its version is older', async (t) => {
  const { store, changes } = await aStore(t);
  store.observe(node('500'));
  store.reset();
  store.observe(node('3', 'u2'));
  assert.deepEqual(changes, ['changed u1@500', 'changed u2@3']);
});

test('a node of a cluster that was restored from an older copy is taken as it is there, and so are our own writes from then on', async (t) => {
  const { api, clock, store, watch, changes } = await aStore(t);
  watch.push('ADDED', node('50'));
  watch.push('BOOKMARK', ended('50'));
  await settle();
  watch.fail();
  await settle();
  await clock.advance(2000);
  const restored = await api.nextWatch('/api/v1/nodes');
  restored.push('ADDED', node('20'));
  restored.push('BOOKMARK', ended('25'));
  await settle();
  store.observe(node('26'));
  assert.deepEqual(changes, ['changed u1@50', 'changed u1@20', 'changed u1@26']);
});
