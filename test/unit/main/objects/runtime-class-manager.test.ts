import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../src/main/api/index.ts';
import { RuntimeClassManager, standaloneRuntimeHandler } from '../../../../src/main/objects/runtime-class-manager.ts';
import { FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';

const path = '/apis/node.k8s.io/v1/runtimeclasses';
const aClass = (name: string, handler: string, resourceVersion = '10') => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name, uid: `uid-${name}`, resourceVersion },
  handler,
});
const initialEnd = {
  kind: 'RuntimeClass',
  apiVersion: 'node.k8s.io/v1',
  metadata: { resourceVersion: '20', annotations: { 'k8s.io/initial-events-end': 'true' } },
};
const aPodOf = (runtimeClassName: string) => aPod({ spec: { containers: [{ name: 'app' }], runtimeClassName } });

function aRuntimeClassManager() {
  const clock = new FakeClock();
  const api = new FakeApi();
  const added: string[][] = [];
  const classes = RuntimeClassManager.start({ client: api, onAdded: (names) => added.push([...names]), clock, logger: silentLogger });
  return { clock, api, added, classes };
}

test('a pod gets the handler of its runtime class, and waits for the first list', async () => {
  const { api, classes } = aRuntimeClassManager();
  const handler = classes.lookupRuntimeHandler(aPodOf('gvisor'));
  const watch = await api.nextWatch(path);
  watch.push('ADDED', aClass('gvisor', 'runsc'));
  watch.push('BOOKMARK', initialEnd);
  assert.deepEqual(await handler, { handler: 'runsc' });
  await classes.close();
});

test('a missing runtime class is an error, and its creation is notified', async () => {
  const { api, added, classes } = aRuntimeClassManager();
  const watch = await api.nextWatch(path);
  watch.push('BOOKMARK', initialEnd);
  await settle();
  assert.deepEqual(await classes.lookupRuntimeHandler(aPodOf('kata')), { problem: 'runtimeclass.node.k8s.io "kata" not found' });
  watch.push('ADDED', aClass('kata', 'kata-qemu', '21'));
  await settle();
  assert.deepEqual(added, [['kata']]);
  assert.deepEqual(await classes.lookupRuntimeHandler(aPodOf('kata')), { handler: 'kata-qemu' });
  watch.push('DELETED', aClass('kata', 'kata-qemu', '22'));
  await settle();
  assert.deepEqual(added, [['kata']]);
  assert.ok('problem' in (await classes.lookupRuntimeHandler(aPodOf('kata'))));
  await classes.close();
});

test('while the API server is unavailable a lookup fails after one second', async () => {
  const { clock, classes } = aRuntimeClassManager();
  const handler = classes.lookupRuntimeHandler(aPodOf('kata'));
  await clock.advance(1000);
  assert.match(JSON.stringify(await handler), /failed to lookup RuntimeClass kata: runtime classes have not been read yet/);
  await classes.close();
});

test('a kubelet that may not read runtime classes says so, and reads them once it may', async () => {
  const { clock, api, classes } = aRuntimeClassManager();
  const forbidden = new ApiError(403, 'Forbidden', 'runtimeclasses.node.k8s.io is forbidden');
  api.on('GET', path, forbidden);
  (await api.nextWatch(path)).fail(forbidden);
  await settle();
  const handler = classes.lookupRuntimeHandler(aPodOf('kata'));
  await clock.advance(1000);
  assert.deepEqual(await handler, { problem: 'failed to lookup RuntimeClass kata: runtime classes have not been read yet' });
  assert.deepEqual(await classes.lookupRuntimeHandler(aPod()), { handler: '' });
  api.on('GET', path, { metadata: { resourceVersion: '20' }, items: [aClass('kata', 'kata-qemu')] });
  await clock.advance(60_000);
  assert.deepEqual(await classes.lookupRuntimeHandler(aPodOf('kata')), { handler: 'kata-qemu' });
  await classes.close();
});

test('a pod without a runtime class gets the default handler', async () => {
  const { classes } = aRuntimeClassManager();
  assert.deepEqual(await classes.lookupRuntimeHandler(aPod()), { handler: '' });
  assert.deepEqual(await classes.lookupRuntimeHandler(aPodOf('')), { handler: '' });
  await classes.close();
});

test('a standalone kubelet knows no runtime classes', () => {
  assert.deepEqual(standaloneRuntimeHandler(aPod()), { handler: '' });
  const problem = 'RuntimeClass "kata" not found: there is no API server to ask for it';
  assert.deepEqual(standaloneRuntimeHandler(aPodOf('kata')), { problem });
});
