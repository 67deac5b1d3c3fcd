/** Runs in a separate process, because code that other tests leave running would allocate objects too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countAllocatedObjects } from '../../../bench/harness/count-objects.ts';
import { Container, ListContainersResponse, ListPodSandboxResponse, PodSandbox } from '../../../src/shared/cri/generated/cri-v1.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { hasReadySandbox } from '../../../src/workers/pleg/records/pod-record.ts';
import { PodRecords } from '../../../src/workers/pleg/records/pod-records.ts';

/** The lists of 40 pods with ten containers each. */
function lists() {
  const uids = Array.from({ length: 40 }, (_, pod) => `u${pod}`);
  const items = uids.map((uid) => PodSandbox.fromPartial({ id: `${uid}-s`, metadata: { name: uid, uid, namespace: 'default' } }));
  const containers = uids.flatMap((uid) =>
    Array.from({ length: 10 }, (_, n) =>
      Container.fromPartial({
        id: `${uid}-c${n}`.padStart(64, '0'),
        podSandboxId: `${uid}-s`,
        metadata: { name: `c${n}` },
        state: 1,
        labels: { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': `c${n}` },
        annotations: { 'io.kubernetes.container.hash': 'ab12' },
      }),
    ),
  );
  return {
    sandboxes: [ListPodSandboxResponse.encode({ items }).finish()],
    containers: [ListContainersResponse.encode({ containers }).finish()],
  };
}

test('a relist of 400 containers without changes allocates almost no objects', async () => {
  const records = new PodRecords(new RuntimeSnapshotWriter(createRuntimeSnapshot(100)), (id, reason) => assert.fail(`${id}: ${reason}`));
  const { sandboxes, containers } = lists();
  assert.equal(records.applyLists(sandboxes, containers, 0, 1), true);
  assert.deepEqual(records.counts(), { sandboxes: 40, containers: 400, outsideSnapshot: 0 });
  assert.equal([...records.all()].filter(hasReadySandbox).length, 40);
  assert.deepEqual(records.containersByState(), [0, 400, 0, 0]);
  let now = 2;
  const changes: boolean[] = [];
  // One object per item would be 440 per relist. For some relists the count includes objects of V8's compiler.
  const counts: number[] = [];
  while (counts.length < 10 && !counts.some((count) => count < 100)) {
    counts.push(await countAllocatedObjects(() => void changes.push(records.applyLists(sandboxes, containers, (now += 1), now))));
  }
  assert.ok(
    counts.some((count) => count < 100),
    `objects in each relist: ${counts.join()}`,
  );
  assert.deepEqual(new Set(changes), new Set([false]));
});
