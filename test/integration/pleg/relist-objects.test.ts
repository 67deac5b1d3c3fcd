/** In a process of its own: what other tests leave running makes objects too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectsMadeBy } from '../../../bench/harness/count-objects.ts';
import { Container, ListContainersResponse, ListPodSandboxResponse, PodSandbox } from '../../../src/shared/cri/generated/cri-v1.ts';
import { createRuntimeSnapshot, RuntimeSnapshotWriter } from '../../../src/shared/state/runtime-snapshot.ts';
import { hasReadySandbox } from '../../../src/workers/pleg/records/pod-record.ts';
import { PodRecords } from '../../../src/workers/pleg/records/pod-records.ts';

/** 40 pods with ten containers each, as lists. */
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

test('a relist of 400 containers that brings nothing new makes next to no objects', async () => {
  const records = new PodRecords(new RuntimeSnapshotWriter(createRuntimeSnapshot(100)), (id, reason) => assert.fail(`${id}: ${reason}`));
  const { sandboxes, containers } = lists();
  assert.equal(records.applyLists(sandboxes, containers, 0, 1), true);
  assert.deepEqual(records.counts(), { sandboxes: 40, containers: 400, outsideSnapshot: 0 });
  assert.equal([...records.all()].filter(hasReadySandbox).length, 40);
  assert.deepEqual(records.containersByState(), [0, 400, 0, 0]);
  let now = 2;
  const changes: boolean[] = [];
  // Each item as an object would be 440 in every relist. What V8 makes as it compiles is counted too, for some relists.
  const made: number[] = [];
  while (made.length < 10 && !made.some((count) => count < 100)) {
    made.push(await objectsMadeBy(() => void changes.push(records.applyLists(sandboxes, containers, (now += 1), now))));
  }
  assert.ok(
    made.some((count) => count < 100),
    `objects in each relist: ${made.join()}`,
  );
  assert.deepEqual(new Set(changes), new Set([false]));
});
