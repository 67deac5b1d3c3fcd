import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuntimeStatusCache } from '../../../../src/main/pods/runtime-status-cache.ts';
import type { PlegNotification } from '../../../../src/shared/contracts/pleg.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aRuntimePodStatus } from '../../../support/pods.ts';

const uid = 'uid-web' as PodUID;
const seenAt = (observedAtMs: number) => aRuntimePodStatus({ observedAtMs });
const message = (fields: Partial<PlegNotification>): PlegNotification => ({ statuses: [], gone: [], events: [], ...fields });

test('nothing is known before the first list of the runtime, and everything after it', () => {
  const cache = new RuntimeStatusCache();
  assert.equal(cache.isComplete, false);
  cache.apply(message({ relistedAtMs: 5 }));
  assert.equal(cache.isComplete, true);
  assert.equal(cache.get(uid), null);
  assert.equal(cache.isNewerThan(uid, 4), true);
});

test('an older look does not replace a newer one', () => {
  const cache = new RuntimeStatusCache();
  cache.apply(message({ statuses: [seenAt(10)] }));
  assert.deepEqual(cache.apply(message({ statuses: [seenAt(9)] })), []);
  assert.equal(cache.applyInspection(uid, seenAt(8), 8), false);
  assert.equal(cache.get(uid)?.observedAtMs, 10);
});

test('a list that began before a pod was seen does not make it gone', () => {
  const cache = new RuntimeStatusCache();
  cache.applyInspection(uid, seenAt(10), 10);
  assert.deepEqual(cache.apply(message({ relistedAtMs: 9, gone: [uid] })), []);
  assert.equal(cache.get(uid)?.observedAtMs, 10);
  assert.deepEqual(cache.apply(message({ relistedAtMs: 11, gone: [uid] })), [uid]);
  assert.equal(cache.get(uid), null);
});
