/** Rows of the usage table for tests. */
import { noIo, type NodeFilesystem } from '../../src/shared/state/node-filesystem-table.ts';
import { createUsageTable, UsageReader, UsageWriter } from '../../src/shared/state/usage-table.ts';
import type { CgroupIdentity, CgroupUsage, UsageValues } from '../../src/shared/state/usage-table.ts';

const noValues = readNoValues();

/** All values of a fresh row: zeros. */
function readNoValues(): UsageValues {
  const buffer = createUsageTable(0);
  const writer = new UsageWriter(buffer);
  const row = writer.add(anIdentity({}));
  writer.putSparse(row, {});
  return new UsageReader(buffer).all()[0]!.values;
}

export function anIdentity(over: Partial<CgroupIdentity>): CgroupIdentity {
  const none = { podUID: '', podName: '', podNamespace: '', containerName: '', containerID: '', image: '' } as const;
  return { kind: 'root', path: '/', ...none, createdAtMs: Date.UTC(2026, 0, 1), ...over };
}

export function aUsage(identity: Partial<CgroupIdentity>, values: Partial<UsageValues> = {}): CgroupUsage {
  const sampledAtMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  return { identity: anIdentity(identity), values: { ...noValues, sampledAtMs, io: '[]', network: '[]', ...values } };
}

/** A filesystem with 100 bytes, of which 60 are used, on a device without I/O. */
export function aNodeFilesystem(over: Partial<NodeFilesystem> = {}): NodeFilesystem {
  const size = { capacityBytes: 100, usedBytes: 60, inodes: 10, inodesFree: 4 };
  return { device: '/dev/sda1', deviceNumber: 2049, ...size, ...noIo, ...over };
}
