import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeStore, type StoredNode } from '../../../../src/main/node/node-store.ts';
import { FakeApi } from '../../../support/api-server/fake-api.ts';
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

test('the store is synced when it knows the Node, not after a list without it', async (t) => {
  const { store, watch } = await aStore(t);
  assert.equal(watch.call.query?.['fieldSelector'], 'metadata.name=n1');
  let isSynced = false;
  void store.untilSynced().then(() => (isSynced = true));
  watch.push('BOOKMARK', ended('5'));
  await settle();
  assert.equal(isSynced, false);
  watch.push('ADDED', node('6'));
  await settle();
  assert.equal(isSynced, true);
});

test('the response to a write replaces an older version, but not a newer one', async (t) => {
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

test('a late response does not restore a deleted node', async (t) => {
  const { store, watch, changes } = await aStore(t);
  watch.push('ADDED', node('5'));
  watch.push('BOOKMARK', ended('5'));
  await settle();
  watch.push('DELETED', node('8'));
  await settle();
  store.observe(node('7'));
  assert.deepEqual(changes, ['changed u1@5', 'deleted -@-']);
});

test('a recreated node replaces the first one', async (t) => {
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

test('the node of a reset cluster is accepted although its version is older', async (t) => {
  const { store, changes } = await aStore(t);
  store.observe(node('500'));
  store.reset();
  store.observe(node('3', 'u2'));
  assert.deepEqual(changes, ['changed u1@500', 'changed u2@3']);
});

test('the older node of a cluster restored from a backup is accepted, and so are later writes', async (t) => {
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
