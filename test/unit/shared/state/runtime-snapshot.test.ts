import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerID, PodUID, SandboxID } from '../../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader, RuntimeSnapshotWriter } from '../../../../src/shared/state/runtime-snapshot.ts';
import type { SnapshotItem } from '../../../../src/shared/state/runtime-snapshot.ts';

const container: SnapshotItem = {
  kind: 'container',
  state: 'running',
  attempt: 3,
  createdAtMs: 1_767_225_600_000.5,
  id: 'c1' as ContainerID,
  sandboxID: 's1' as SandboxID,
  podUID: 'u1' as PodUID,
  podName: 'web',
  podNamespace: 'default',
  containerName: 'app',
  image: 'busybox',
};

suite('the snapshot of the runtime', () => {
  test('shows the writer’s rows to every reader', () => {
    const buffer = createRuntimeSnapshot(1);
    const reader = new RuntimeSnapshotReader(buffer);
    const writer = new RuntimeSnapshotWriter(buffer);
    assert.deepEqual([reader.relistedAtMs, [...reader.all()]], [0, []]);
    const row = writer.add(container)!;
    writer.setRelistedAt(12.5);
    assert.deepEqual([reader.relistedAtMs, [...reader.all()]], [12.5, [container]]);
    writer.setState(row, 'exited');
    assert.deepEqual([...reader.all()], [{ ...container, state: 'exited' }]);
    writer.remove(row);
    assert.equal(reader.size, 0);
  });

  test('keeps the rows of a dead writer until its successor has a list, and returns their pods', () => {
    const buffer = createRuntimeSnapshot(1);
    const first = new RuntimeSnapshotWriter(buffer);
    first.add(container);
    first.add({ ...container, id: 'c2' as ContainerID, podUID: 'u2' as PodUID });
    first.setRelistedAt(5);
    const second = new RuntimeSnapshotWriter(buffer);
    const reader = new RuntimeSnapshotReader(buffer);
    assert.deepEqual([reader.size, reader.relistedAtMs], [2, 0]);
    second.add({ ...container, id: 'c3' as ContainerID });
    assert.deepEqual([...second.dropInherited()].sort(), ['u1', 'u2']);
    assert.deepEqual(
      Array.from(reader.all(), ({ id }) => id),
      ['c3'],
    );
    assert.deepEqual([...second.dropInherited()], []);
  });

  test('has room for ten items per pod, and some more', () => {
    const writer = new RuntimeSnapshotWriter(createRuntimeSnapshot(1));
    for (let n = 0; n < 210; n += 1) assert.notEqual(writer.add(container), undefined);
    assert.equal(writer.add(container), undefined);
  });

  test('rejects a name that is too long, with the field’s name', () => {
    const writer = new RuntimeSnapshotWriter(createRuntimeSnapshot(1));
    assert.throws(() => writer.add({ ...container, podName: 'x'.repeat(300) }), /runtime-snapshot.podName: .* has 300 bytes/);
  });
});
