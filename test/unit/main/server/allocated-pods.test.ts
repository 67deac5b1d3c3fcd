import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import { allocatedPodJson, allocatedPodList } from '../../../../src/main/server/allocated-pods.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { aLogger } from '../../../support/logger.ts';
import { podListOf } from '../../../support/server/pod-list.ts';

const aPod = (name: string, extra: object = {}) =>
  ({
    metadata: { name, namespace: 'ns1', uid: `uid-${name}` },
    spec: { containers: [] },
    status: { phase: 'Running' },
    ...extra,
  }) as unknown as AllocatedPod;
const pods = [aPod('pod1'), aPod('pod2')];

test('the list has the pods without their status', () => {
  const items = podListOf(
    allocatedPodList(() => pods),
    aLogger().logger,
  );
  assert.deepEqual(
    items.map(({ metadata, status }) => [metadata.name, status]),
    [
      ['pod1', {}],
      ['pod2', {}],
    ],
  );
});

test('a pod that cannot be serialized costs only itself', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const list = allocatedPodList(() => [aPod('bad', { spec: circular }), ...pods]);
  assert.equal(podListOf(list, aLogger().logger).length, 2);
});

test('one pod is found by its names, and by its UID', () => {
  const query = { namespace: 'ns1', name: 'pod1' };
  const found = JSON.parse(allocatedPodJson(pods, query)!) as Pod & { kind: string };
  assert.deepEqual([found.kind, found.metadata.uid, found.status], ['Pod', 'uid-pod1', {}]);
  assert.ok(allocatedPodJson(pods, { ...query, uid: 'uid-pod1' }));
  for (const other of [{ uid: 'uid-pod2' }, { name: 'pod3' }, { namespace: 'ns2' }]) {
    assert.equal(allocatedPodJson(pods, { ...query, ...other }), null);
  }
});
