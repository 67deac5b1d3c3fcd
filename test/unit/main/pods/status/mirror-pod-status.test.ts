/** A static pod’s status is written to its mirror pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../../support/pods/status-manager.ts';

const manifestHash = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
const aStatic = () => aPod({ metadata: { name: 'web', uid: 'static-uid', annotations: manifestHash } });
const aMirror = (uid: string, hash = 'h1') =>
  anApiPod('web', { metadata: { uid, annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash } } });

test('a static pod’s status is written to its mirror pod as soon as the mirror pod exists', async () => {
  const { api, podManager, setStatus, syncWatch } = aManager();
  podManager.set(aStatic());
  await setStatus(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put(aMirror('mirror-1'));
  await syncWatch();
  assert.deepEqual(api.bodies.at(-1), { metadata: { uid: 'mirror-1', resourceVersion: '101' }, status: { phase: 'Running', startTime } });
});

test('a recreated mirror pod gets the full status', async () => {
  const { api, podManager, setStatus, syncWatch } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await syncWatch();
  await setStatus(aStatic(), { phase: 'Running' });
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await syncWatch();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
  assert.equal(api.calls.length, 2);
});

test('a mirror pod of another manifest gets no status, and the status manager deletes no mirror pod', async () => {
  const { api, podManager, setStatus, syncWatch } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1', 'other'));
  await syncWatch();
  await setStatus(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put({ ...aMirror('mirror-2'), metadata: { ...aMirror('mirror-2').metadata, deletionTimestamp } });
  await syncWatch();
  await setStatus(aStatic(), { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Running', 'PATCH web Failed']);
});

test('a mirror pod that arrives while the write to its predecessor fails gets the status at once', async () => {
  const { api, podManager, setStatus, syncWatch } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await syncWatch();
  api.paused = true;
  await setStatus(aStatic(), { phase: 'Running' });
  api.pods.clear();
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await syncWatch();
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('a terminal phase of a mirror pod is not kept while the static pod runs', async () => {
  const { api, podManager, setStatus, syncWatch } = aManager();
  podManager.set(aStatic());
  const status = { phase: 'Failed', reason: 'Terminated', message: 'node shutdown' };
  api.put({ ...aMirror('mirror-1'), status });
  await syncWatch();
  await setStatus(aStatic(), { phase: 'Running' });
  assert.deepEqual([api.pods.get('web')?.status?.phase, api.pods.get('web')?.status?.reason], ['Running', undefined]);
});
