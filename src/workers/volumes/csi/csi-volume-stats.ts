/** Asks CSI drivers what their volumes use (upstream pkg/volume/csi/csi_metrics.go, csi_client.go NodeGetVolumeStats). */
import { KeyedSequence } from '../../../shared/concurrency/keyed-sequence.ts';
import type { DriverMeasuredUsage, VolumeStatsReply, VolumeStatsRequest } from '../../../shared/contracts/volumes.ts';
import { codeName } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { RpcError } from '../../../shared/grpc-client/index.ts';
import { volumeMetricCollectionDuration } from '../../../shared/metrics/definitions/volumes.ts';
import type { CsiDriver } from './csi-driver.ts';
import { targetPath } from './csi-paths.ts';
import { VolumeUsage_Unit as Unit, type VolumeUsage } from './generated/csi-v1.ts';
import { readVolumeData } from './volume-data.ts';

export interface CsiVolumeStatsOptions {
  readonly rootDir: string;
  /** The registered drivers, by name. */
  readonly drivers: ReadonlyMap<string, CsiDriver>;
}

export class CsiVolumeStats {
  readonly #options: CsiVolumeStatsOptions;
  /** A driver gets one of these calls at a time: one that does not answer has one call open, not one for each of its volumes. */
  readonly #calls = new KeyedSequence<string>();

  constructor(options: CsiVolumeStatsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async read({ podUID, specName }: VolumeStatsRequest): Promise<VolumeStatsReply> {
    const volumePath = targetPath(this.#options.rootDir, podUID, specName);
    const data = await readVolumeData(volumePath);
    if (data === null || data === 'unreadable') return { outcome: 'absent' };
    return this.#calls.run(data.driver, () => this.#read(data.driver, data.volumeHandle, volumePath));
  }

  async #read(name: string, volumeId: string, volumePath: string): Promise<VolumeStatsReply> {
    const driver = this.#options.drivers.get(name);
    if (!driver) return { outcome: 'absent' };
    const beganAtMs = performance.now();
    try {
      if (!(await driver.capabilities()).volumeStats) return { outcome: 'unsupported' };
      const { usage } = await driver.call('nodeGetVolumeStats', { volumeId, volumePath, stagingTargetPath: '' });
      volumeMetricCollectionDuration.observe((performance.now() - beganAtMs) / 1000, { metric_source: name });
      return { outcome: 'measured', usage: driverMeasuredUsage(usage) };
    } catch (err) {
      // Not the driver's own text, which may have a part of a secret that it was once given.
      return { outcome: 'failed', message: err instanceof RpcError ? codeName(err.code) : messageOf(err) };
    }
  }
}

/** Of several values with one unit, the last one counts. Throws when the driver reports none. Pure. */
export function driverMeasuredUsage(values: readonly VolumeUsage[]): DriverMeasuredUsage {
  if (values.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const bytes = values.findLast(({ unit }) => unit === Unit.BYTES);
  const inodes = values.findLast(({ unit }) => unit === Unit.INODES);
  return {
    capacityBytes: Number(bytes?.total ?? 0n),
    availableBytes: Number(bytes?.available ?? 0n),
    usedBytes: Number(bytes?.used ?? 0n),
    inodes: Number(inodes?.total ?? 0n),
    inodesFree: Number(inodes?.available ?? 0n),
    inodesUsed: Number(inodes?.used ?? 0n),
  };
}
