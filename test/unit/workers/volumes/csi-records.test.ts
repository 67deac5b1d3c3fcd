/** Names, records and states of CSI volumes. */
import assert from 'node:assert/strict';
import { toAccessMode } from '../../../../src/workers/volumes/csi/access-mode.ts';
import { isDriverName, stagingPath, targetPath } from '../../../../src/workers/volumes/csi/csi-paths.ts';
import { parseVolumeData } from '../../../../src/workers/volumes/csi/volume-data.ts';
import { shouldUnstage } from '../../../../src/workers/volumes/volume-table.ts';
import { table } from '../../../support/table.ts';

table('the paths of a volume', (row) => {
  row('have the hash of the handle', () =>
    assert.equal(
      stagingPath('/r', 'd.example', 'v1'),
      '/r/plugins/kubernetes.io/csi/d.example/3bfc269594ef649228e9a74bab00f042efc91d5acc6fbee31a382e80d42388fe/globalmount',
    ),
  );
  row('have the name of the persistent volume', () =>
    assert.equal(targetPath('/r', 'u', 'pv1'), '/r/pods/u/volumes/kubernetes.io~csi/pv1/mount'),
  );
  for (const name of ['', '..', 'a..b', 'a/b', '.a', 'a.', 'x'.repeat(64)]) {
    row(`do not exist for the driver "${name.slice(0, 8)}"`, () =>
      assert.throws(() => stagingPath('/r', name, 'v1'), /cannot be the name of a CSI driver/),
    );
    row(`the driver "${name.slice(0, 8)}" has no name`, () => assert.equal(isDriverName(name), false));
  }
});

table('a record', (row) => {
  const keys = { driverName: 'd', volumeHandle: 'h', specVolID: 'pv1' };
  row('has all keys', () =>
    assert.deepEqual(parseVolumeData(JSON.stringify(keys)), {
      driver: 'd',
      volumeHandle: 'h',
      needsAttachment: false,
      completedOnBoot: undefined,
      keys,
    }),
  );
  row('has that the volume is attached', () =>
    assert.equal(parseVolumeData(JSON.stringify({ ...keys, needsAttachment: 'true' }))?.needsAttachment, true),
  );
  row('has the boot', () => assert.equal(parseVolumeData(JSON.stringify({ ...keys, completedOnBoot: 'b' }))?.completedOnBoot, 'b'));
  for (const text of ['', '{', 'null', '[]', '"x"', '{"driverName":"d"}', '{"driverName":1,"volumeHandle":"h"}'])
    row(`is broken: ${text}`, () => assert.equal(parseVolumeData(text), null));
});

table('an access mode', (row) => {
  const cases: [modes: string[], multiWriter: boolean, want: number][] = [
    [['ReadWriteOnce'], false, 1],
    [['ReadWriteOnce'], true, 7],
    [['ReadWriteOncePod'], false, 1],
    [['ReadWriteOncePod'], true, 6],
    [['ReadOnlyMany', 'ReadWriteOnce'], true, 3],
    [['ReadWriteMany'], false, 5],
    [[], false, 1],
    [['Other'], false, 0],
  ];
  for (const [modes, multiWriter, want] of cases)
    row(`${modes.join()} ${multiWriter}`, () => assert.equal(toAccessMode(modes, multiWriter), want));
});

table('a volume', (row) => {
  const idle = { staged: 'complete', published: new Map(), expected: 0 } as const;
  row('that no pod uses is unstaged', () => assert.equal(shouldUnstage(idle), true));
  row('that may be staged is unstaged', () => assert.equal(shouldUnstage({ ...idle, staged: 'uncertain' }), true));
  row('that is not staged is left', () => assert.equal(shouldUnstage({ ...idle, staged: undefined }), false));
  row('that a pod may use is left', () => assert.equal(shouldUnstage({ ...idle, published: new Map([['/t', 'uncertain']]) }), false));
  row('that a pod waits for is left', () => assert.equal(shouldUnstage({ ...idle, expected: 1 }), false));
});
