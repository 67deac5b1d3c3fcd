/** The credentials of pulls, and the records of which pods may use an image. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ImageManagerOptions } from '../../../../../src/workers/images/pulls/image-manager.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aManager, notFound, ofSecrets, reasons } from '../../../../support/runtime/image-manager.ts';

test('the credentials of the pod are tried in order', async () => {
  const { images, ensure } = aManager();
  images.acceptedUsers.add('right');
  assert.equal(reasons(await ensure('r.example/app:1', ofSecrets(['a', 'wrong'], ['b', 'right']))), 'ref-r.example/app:1 Pulling Pulled');
  assert.deepEqual(images.pullUsers, ['wrong', 'right']);
  const failed = await ensure('r.example/other:1', ofSecrets(['a', 'x'], ['b', 'y']));
  assert.ok(failed.outcome === 'failed');
  assert.equal(
    failed.failure.message,
    '[rpc error: code = PermissionDenied desc = x is not allowed, rpc error: code = PermissionDenied desc = y is not allowed]',
  );
});

test('pods with different credentials never share a pull', async () => {
  const { images, ensure } = aManager();
  images.blocksPulls = true;
  const withSecret = (username: string) => ofSecrets(['s', username]);
  const waiting = [ensure('r.example/app:1', withSecret('one')), ensure('r.example/app:1', withSecret('two')), ensure('r.example/app:1')];
  await settle();
  assert.deepEqual(images.pullUsers, ['one', 'two', '']);
  images.finish('r.example/app:1');
  void waiting;
});

test('pods of different namespaces never share a pull, and the runtime learns for which pod it pulls', async () => {
  const { images, ensure } = aManager();
  images.blocksPulls = true;
  const waiting = ['a', 'b', 'a'].map((podNamespace) => ensure('r.example/app:1', { podNamespace }));
  await settle();
  assert.deepEqual(images.pullNamespaces, ['a', 'b']);
  images.finish('r.example/app:1');
  void waiting;
});

test('a name that looks like another pull’s credentials shares no pull', async () => {
  const { images, ensure } = aManager();
  images.blocksPulls = true;
  const hash = createHash('sha256').update('{"username":"one","password":"geheim"}').digest('hex');
  const waiting = [ensure('r.example/app:1', ofSecrets(['s', 'one'])), ensure(`r.example/app:1_${hash}`)];
  await settle();
  assert.deepEqual(images.pullUsers, ['one', '']);
  void waiting;
});

/** In-memory records with configurable access, which also collect the writes. */
function someRecords(mustPull: boolean) {
  const written: unknown[] = [];
  const records: ImageManagerOptions['records'] = {
    mustPull: async (image, imageRef, pod) => {
      written.push(['mustPull', image, imageRef, pod.secrets().map(({ name }) => name)]);
      return mustPull;
    },
    recordIntent: async (image) => void written.push(['intent', image]),
    recordPulled: async (image, imageRef, credentials) => void written.push(['pulled', image, imageRef, credentials]),
    recordEnd: async (image) => void written.push(['end', image]),
  };
  return { records, written };
}

test('a present image without access for the pod is pulled with the pod’s credentials and recorded', async () => {
  const { records, written } = someRecords(true);
  const { images, ensure } = aManager({ records });
  images.present.add('r.example/app:1');
  assert.equal(reasons(await ensure('r.example/app:1', ofSecrets(['a', 'me']))), 'ref-r.example/app:1 Pulling Pulled');
  const credentialHash = createHash('sha256').update('{"username":"me","password":"geheim"}').digest('hex');
  assert.deepEqual(written, [
    ['mustPull', 'r.example/app:1', 'id-r.example/app:1', ['a']],
    ['intent', 'r.example/app:1'],
    [
      'pulled',
      'r.example/app:1',
      'ref-r.example/app:1',
      { kubernetesSecrets: [{ uid: 'u-a', namespace: 'ns', name: 'a', credentialHash }] },
    ],
  ]);
  images.failWith = notFound;
});

test('an anonymous pull is recorded for every pod, and a failed pull ends its intent', async () => {
  const { records, written } = someRecords(false);
  const { images, ensure } = aManager({ records });
  await ensure('app:1');
  assert.deepEqual(written.at(-1), ['pulled', 'app:1', 'ref-app:1', { nodePodsAccessible: true }]);
  images.failWith = notFound;
  await ensure('other:1', { imagePullPolicy: 'Always' });
  assert.deepEqual(written.at(-1), ['end', 'other:1']);
});

test('with policy Never an inaccessible image is reported like a missing one', async () => {
  const { records } = someRecords(true);
  const { images, ensure } = aManager({ records });
  const message = 'Container image "app:1" is not present with pull policy of Never';
  const absent = await ensure('app:1', { imagePullPolicy: 'Never' });
  images.present.add('app:1');
  const forbidden = await ensure('app:1', { imagePullPolicy: 'Never' });
  assert.deepEqual(
    [reasons(absent), reasons(forbidden)],
    Array.from({ length: 2 }, () => 'ErrImageNeverPull ErrImageNeverPull'),
  );
  assert.deepEqual([absent.events[0]?.message, forbidden.events[0]?.message], [message, message]);
});
