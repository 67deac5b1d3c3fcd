import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Suspects } from '../../../../src/main/threads/suspects.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';

test('a pod is a suspect from the second death on, until a task of it ends well', () => {
  const suspects = new Suspects();
  const [uid, other] = ['a' as PodUID, 'b' as PodUID];
  assert.deepEqual([suspects.recordDeath(uid), suspects.isSuspect(uid)], [false, false]);
  suspects.clear(uid);
  assert.deepEqual([suspects.recordDeath(uid), suspects.recordDeath(uid), suspects.isSuspect(uid)], [false, true, true]);
  assert.deepEqual([suspects.recordDeath(uid), suspects.isSuspect(other)], [false, false]);
  suspects.clear(uid);
  assert.equal(suspects.isSuspect(uid), false);
});
