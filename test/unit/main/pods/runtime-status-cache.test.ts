import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeStatusCache } from '../../../../src/main/pods/runtime-status-cache.ts';
import type { PlegNotification } from '../../../../src/shared/contracts/pleg.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aRuntimePodStatus } from '../../../support/pods/pods.ts';

const uid = 'uid-web' as PodUID;
const observedAt = (observedAtMs: number) => aRuntimePodStatus({ observedAtMs });
const aNotification = (fields: Partial<PlegNotification>): PlegNotification => ({ statuses: [], removed: [], events: [], ...fields });

test('the cache is incomplete until the first relist', () => {
  const cache = new RuntimeStatusCache();
  assert.equal(cache.isComplete, false);
  cache.apply(aNotification({ relistedAtMs: 5 }));
  assert.equal(cache.isComplete, true);
  assert.equal(cache.get(uid), null);
  assert.equal(cache.isNewerThan(uid, 4), true);
});

test('an older observation does not replace a newer one', () => {
  const cache = new RuntimeStatusCache();
  cache.apply(aNotification({ statuses: [observedAt(10)] }));
  assert.deepEqual(cache.apply(aNotification({ statuses: [observedAt(9)] })), []);
  assert.equal(cache.get(uid)?.observedAtMs, 10);
});

test('an unchanged status only renews the time of its observation', () => {
  const cache = new RuntimeStatusCache();
  assert.deepEqual(cache.apply(aNotification({ statuses: [observedAt(10)] })), [uid]);
  assert.deepEqual(cache.apply(aNotification({ statuses: [observedAt(12)], unchanged: true })), []);
  assert.equal(cache.isNewerThan(uid, 11), true);
});

test('a relist that began before a pod was observed does not remove the pod', () => {
  const cache = new RuntimeStatusCache();
  cache.apply(aNotification({ statuses: [observedAt(10)] }));
  assert.deepEqual(cache.apply(aNotification({ relistedAtMs: 9, removed: [uid] })), []);
  assert.equal(cache.get(uid)?.observedAtMs, 10);
  assert.deepEqual(cache.apply(aNotification({ relistedAtMs: 11, removed: [uid] })), [uid]);
  assert.equal(cache.get(uid), null);
});
