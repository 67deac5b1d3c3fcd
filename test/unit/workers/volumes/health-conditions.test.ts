/** Which conditions of the API the answers of a driver become, within what the API server admits. */
import assert from 'node:assert/strict';
import {
  StorageHealthErrorType as StorageStatus,
  VolumeCapability_AccessMode_Mode as Mode,
  VolumeHealthErrorType as VolumeStatus,
  type VolumeCapability,
} from '../../../../src/workers/volumes/csi/generated/csi-v1.ts';
import { storageHealthConditions, volumeHealthConditions } from '../../../../src/workers/volumes/csi/health-conditions.ts';
import { table } from '../../../support/table.ts';

const volumeEntry = (fields: { status?: VolumeStatus; reason?: string; message?: string } = {}) => ({
  status: VolumeStatus.DEGRADED,
  reason: 'SlowPath',
  message: '',
  ...fields,
});
const backend = (fields: { status?: StorageStatus; reason?: string; volumeCapability?: VolumeCapability } = {}) => ({
  status: StorageStatus.STORAGE_DEGRADED,
  reason: 'SlowPath',
  message: '',
  volumeCapability: undefined,
  ...fields,
});
const capability = (mode: Mode | undefined, type: 'block' | 'mount' | undefined): VolumeCapability => ({
  block: type === 'block' ? {} : undefined,
  mount: type === 'mount' ? { fsType: '', mountFlags: [], volumeMountGroup: '' } : undefined,
  accessMode: mode === undefined ? undefined : { mode },
});
const reasonOf = (reason: string) => volumeHealthConditions([volumeEntry({ reason })])[0]?.reason;
const messageOf = (message: string) => volumeHealthConditions([volumeEntry({ message })])[0]?.message;

table('the conditions of a volume', (row) => {
  const statuses: [VolumeStatus, want: string | undefined][] = [
    [VolumeStatus.INACCESSIBLE, 'Inaccessible'],
    [VolumeStatus.DATA_LOSS, 'DataLoss'],
    [VolumeStatus.DEGRADED, 'Degraded'],
    [VolumeStatus.UNKNOWN_VOLUME_HEALTH_TYPE, undefined],
    [9 as VolumeStatus, undefined],
  ];
  for (const [status, want] of statuses)
    row(`the status ${status}`, () => assert.equal(volumeHealthConditions([volumeEntry({ status })])[0]?.status, want));
  row('none for a healthy volume', () => assert.deepEqual(volumeHealthConditions([]), []));
  row('an empty message is left out', () =>
    assert.deepEqual(volumeHealthConditions([volumeEntry()]), [{ status: 'Degraded', reason: 'SlowPath' }]),
  );
  row('of two with one status and reason the first stays', () =>
    assert.deepEqual(
      volumeHealthConditions([
        volumeEntry({ message: 'one' }),
        volumeEntry({ reason: 'Other' }),
        volumeEntry({ message: 'two' }),
        volumeEntry({ status: VolumeStatus.DATA_LOSS }),
      ]),
      [
        { status: 'Degraded', reason: 'SlowPath', message: 'one' },
        { status: 'Degraded', reason: 'Other' },
        { status: 'DataLoss', reason: 'SlowPath' },
      ],
    ),
  );
  const many = (count: number) => Array.from({ length: count }, (_, index) => volumeEntry({ reason: `Reason${index}` }));
  row('sixteen', () => assert.equal(volumeHealthConditions(many(16)).length, 16));
  row('not more', () =>
    assert.throws(() => volumeHealthConditions(many(17)), { message: 'NodeGetVolumeHealth returned 17 conditions, maximum is 16' }),
  );
  row('those without effect do not count', () =>
    assert.equal(volumeHealthConditions(Array.from({ length: 40 }, () => volumeEntry({ status: 9 as VolumeStatus }))).length, 0),
  );
});

table('the texts of a condition', (row) => {
  const longest = 'a'.repeat(256);
  for (const reason of ['SlowPath', 'a', 'A_1,b:C_', longest]) row(`the reason ${reason}`, () => assert.equal(reasonOf(reason), reason));
  for (const reason of ['', '1a', 'a b', 'a:', 'ä', 'a\n', `${longest}a`, 'a'.repeat(1_000_000)])
    row(`the invalid reason ${reason.slice(0, 300)}`, () => assert.equal(reasonOf(reason), 'NoValidReason'));
  row('a message of 1,024 bytes', () => assert.equal(messageOf('é'.repeat(512)), 'é'.repeat(512)));
  row('a longer message is cut at a character', () => assert.equal(messageOf(`a${'é'.repeat(600)}`), `a${'é'.repeat(511)}`));
  row('a character of four bytes', () => assert.equal(messageOf('💾'.repeat(300)), '💾'.repeat(256)));
});

table('the conditions of a storage', (row) => {
  const statuses: [StorageStatus, want: string | undefined][] = [
    [StorageStatus.STORAGE_UNREACHABLE, 'StorageUnreachable'],
    [StorageStatus.STORAGE_DEGRADED, 'StorageDegraded'],
    [StorageStatus.UNKNOWN_STORAGE_HEALTH_ERROR_TYPE, undefined],
  ];
  for (const [status, want] of statuses)
    row(`the status ${status}`, () => assert.equal(storageHealthConditions([backend({ status })])[0]?.status, want));
  const modes: [Mode, want: string][] = [
    [Mode.SINGLE_NODE_WRITER, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_READER_ONLY, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_MULTI_WRITER, 'ReadWriteOnce'],
    [Mode.SINGLE_NODE_SINGLE_WRITER, 'ReadWriteOncePod'],
    [Mode.MULTI_NODE_READER_ONLY, 'ReadOnlyMany'],
    [Mode.MULTI_NODE_SINGLE_WRITER, 'ReadWriteMany'],
    [Mode.MULTI_NODE_MULTI_WRITER, 'ReadWriteMany'],
  ];
  for (const [mode, accessMode] of modes)
    row(`the access mode ${mode}`, () =>
      assert.deepEqual(storageHealthConditions([backend({ volumeCapability: capability(mode, 'mount') })]), [
        { status: 'StorageDegraded', reason: 'SlowPath', accessMode, volumeMode: 'Filesystem' },
      ]),
    );
  row('a block volume', () =>
    assert.equal(
      storageHealthConditions([backend({ volumeCapability: capability(Mode.SINGLE_NODE_WRITER, 'block') })])[0]?.volumeMode,
      'Block',
    ),
  );
  const broken: [name: string, VolumeCapability][] = [
    ['without a type', capability(Mode.SINGLE_NODE_WRITER, undefined)],
    ['without a mode', capability(undefined, 'mount')],
    ['with an unknown mode', capability(Mode.UNKNOWN, 'mount')],
  ];
  for (const [name, volumeCapability] of broken)
    row(`a capability ${name} fails the whole answer`, () =>
      assert.throws(() => storageHealthConditions([backend(), backend({ volumeCapability })]), {
        message: 'NodeGetStorageHealth condition 1 has invalid volume capability',
      }),
    );
  row('one reason for two capabilities', () =>
    assert.equal(
      storageHealthConditions([
        backend(),
        backend({ volumeCapability: capability(Mode.SINGLE_NODE_WRITER, 'block') }),
        backend({ volumeCapability: capability(Mode.SINGLE_NODE_WRITER, 'mount') }),
        backend(),
      ]).length,
      3,
    ),
  );
  row('more than sixteen, as upstream also the same ones', () =>
    assert.throws(() => storageHealthConditions(Array.from({ length: 17 }, () => backend())), {
      message: 'NodeGetStorageHealth returned 17 conditions, maximum is 16',
    }),
  );
});
