/** What a driver changes in the CSINode and in the Node, and which versions of a driver replace it. */
import assert from 'node:assert/strict';
import {
  isOwnedBy,
  newCsiNode,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
  type CsiNode,
} from '../../../../src/main/volumes/csi-node/csi-node.ts';
import { installPatch, uninstallPatch } from '../../../../src/main/volumes/csi-node/node-metadata.ts';
import { highestSupportedVersion, isLower } from '../../../../src/main/volumes/driver-versions.ts';
import { table } from '../../../support/table.ts';

const empty = newCsiNode('n', 'uid-1') as CsiNode;
const info = { nodeID: 'id', maxVolumesPerNode: 3, topology: { zone: 'a', rack: 'b' } };

table('the CSINode', (row) => {
  const one = withDriver(empty, 'd', info);
  row('gets a driver', () =>
    assert.deepEqual(one.spec.drivers, [{ name: 'd', nodeID: 'id', topologyKeys: ['rack', 'zone'], allocatable: { count: 3 } }]),
  );
  row('stays the same for the same driver', () => assert.equal(withDriver(one, 'd', info), one));
  row('changes with the limit', () =>
    assert.deepEqual(withDriver(one, 'd', { ...info, maxVolumesPerNode: 0 }).spec.drivers?.[0]?.allocatable, undefined),
  );
  row('keeps other drivers', () =>
    assert.deepEqual(
      withDriver(one, 'e', info).spec.drivers?.map(({ name }) => name),
      ['d', 'e'],
    ),
  );
  row('bounds the limit as an int32', () =>
    assert.deepEqual(withDriver(empty, 'd', { ...info, maxVolumesPerNode: 2 ** 40 }).spec.drivers?.[0]?.allocatable, {
      count: 2 ** 31 - 1,
    }),
  );
  row('keeps the migrated plugins, in any order', () => {
    const [key, value] = Object.entries(empty.metadata.annotations ?? {})[0]!;
    const reversed = { ...empty, metadata: { ...empty.metadata, annotations: { [key]: value.split(',').toReversed().join() } } };
    assert.equal(withMigratedPlugins(reversed), reversed);
  });
  row('gets the migrated plugins, and keeps other annotations', () => {
    const { annotations } = withMigratedPlugins({ ...empty, metadata: { ...empty.metadata, annotations: { a: 'b' } } }).metadata;
    assert.deepEqual(annotations, { a: 'b', ...empty.metadata.annotations });
  });
  row('loses a driver', () => assert.deepEqual(withoutDriver(one, 'd').spec.drivers, []));
  row('stays the same without the driver', () => assert.equal(withoutDriver(one, 'e'), one));
  row('belongs to its Node', () => assert.equal(isOwnedBy(empty, 'n', 'uid-1'), true));
  row('does not belong to a later Node of the name', () => assert.equal(isOwnedBy(empty, 'n', 'uid-2'), false));
});

table('the Node', (row) => {
  const annotation = 'csi.volume.kubernetes.io/nodeid';
  row('gets the ID and the labels', () =>
    assert.deepEqual(installPatch({}, 'd', 'id', { zone: 'a' }), { annotations: { [annotation]: '{"d":"id"}' }, labels: { zone: 'a' } }),
  );
  row('needs no patch when it has both', () =>
    assert.equal(installPatch({ annotations: { [annotation]: '{"d":"id"}' }, labels: { zone: 'a' } }, 'd', 'id', { zone: 'a' }), null),
  );
  row('keeps the IDs of other drivers', () =>
    assert.deepEqual(installPatch({ annotations: { [annotation]: '{"e":"x"}' } }, 'd', 'id', {}), {
      annotations: { [annotation]: '{"d":"id","e":"x"}' },
    }),
  );
  row('refuses another value of a label', () =>
    assert.throws(() => installPatch({ labels: { zone: 'b' } }, 'd', 'id', { zone: 'a' }), {
      message: 'detected topology value collision: driver reported "zone":"a" but existing label is "zone":"b"',
    }),
  );
  row('refuses a broken annotation', () =>
    assert.throws(() => installPatch({ annotations: { [annotation]: '{' } }, 'd', 'id', {}), /failed to parse node's/),
  );
  row('loses the annotation with its last driver', () =>
    assert.deepEqual(uninstallPatch({ annotations: { [annotation]: '{"d":"id"}' } }, 'd'), { annotations: { [annotation]: null } }),
  );
  row('needs no patch without the driver', () => assert.equal(uninstallPatch({}, 'd'), null));
});

table('the versions of a driver', (row) => {
  const cases: [versions: string[], want: string | undefined][] = [
    [['1.0.0'], '1.0.0'],
    [['v1.2.0', '1.10.0', '2.0.0', '0.3.0'], '1.10.0'],
    [['2.0.0', '0.3'], undefined],
    [['one', '1', '1.0.0.0.0'], undefined],
  ];
  for (const [versions, want] of cases) row(versions.join(), () => assert.equal(highestSupportedVersion(versions)?.text, want));
  row('a lower one', () => assert.equal(isLower(highestSupportedVersion(['1.2'])!, highestSupportedVersion(['1.10.0'])!), true));
  row('the same one', () => assert.equal(isLower(highestSupportedVersion(['1.2'])!, highestSupportedVersion(['1.2.0'])!), false));
});
