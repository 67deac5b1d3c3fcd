/** A static pod’s status is told in its mirror pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aPod } from '../../../support/pods.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../support/status-manager.ts';

const manifestHash = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
const aStatic = () => aPod({ metadata: { name: 'web', uid: 'static-uid', annotations: manifestHash } });
const aMirror = (uid: string, hash = 'h1') =>
  anApiPod('web', { metadata: { uid, annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash } } });

test('a static pod’s status goes to its mirror pod, as soon as that is there', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  await say(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put(aMirror('mirror-1'));
  await show();
  assert.deepEqual(api.bodies.at(-1), { metadata: { uid: 'mirror-1', resourceVersion: '101' }, status: { phase: 'Running', startTime } });
});

test('a mirror pod that is made anew is told all of it', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await show();
  await say(aStatic(), { phase: 'Running' });
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await show();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
  assert.equal(api.calls.length, 2);
});

test('a mirror pod of another manifest is told nothing, and none is deleted with its pod’s end', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1', 'other'));
  await show();
  await say(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put({ ...aMirror('mirror-2'), metadata: { ...aMirror('mirror-2').metadata, deletionTimestamp } });
  await show();
  await say(aStatic(), { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Running', 'PATCH web Failed']);
});

test('a mirror pod that comes while its predecessor is found to be gone is told at once', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await show();
  api.paused = true;
  await say(aStatic(), { phase: 'Running' });
  api.pods.clear();
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await show();
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});
