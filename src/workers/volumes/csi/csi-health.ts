/** Asks CSI drivers about the health of volumes and of the storage behind them (upstream pkg/volume/csi/csi_client.go, kubelet/volumemanager/cache/volume_health.go). */
import { KeyedSequence } from '../../../shared/concurrency/keyed-sequence.ts';
import type { HealthReply, StorageHealthReply, VolumeHealthReply, VolumeHealthRequest } from '../../../shared/contracts/volumes.ts';
import { codeName } from '../../../shared/cri/cri-error.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { RpcError } from '../../../shared/grpc-client/index.ts';
import type { VolumeTable } from '../volume-table.ts';
import type { CsiDriver, DriverCapabilities } from './csi-driver.ts';
import { stagingPath, targetPath } from './csi-paths.ts';
import { storageHealthConditions, volumeHealthConditions } from './health-conditions.ts';

export interface CsiHealthOptions {
  readonly rootDir: string;
  /** The registered drivers, by name. */
  readonly drivers: ReadonlyMap<string, CsiDriver>;
  /** What is staged and published. */
  readonly table: Pick<VolumeTable, 'find'>;
}

export class CsiHealth {
  readonly #options: CsiHealthOptions;
  /** A driver gets one of these calls at a time: one that does not answer has one call open, not one for each of its volumes. */
  readonly #calls = new KeyedSequence<string>();

  constructor(options: CsiHealthOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  ofVolume(request: VolumeHealthRequest): Promise<VolumeHealthReply> {
    return this.#ask(request.driver, 'volumeHealth', async (driver) => {
      const { volumeHealth } = await driver.call('nodeGetVolumeHealth', { volumeId: request.volumeHandle, ...this.#paths(request) });
      return volumeHealthConditions(volumeHealth?.healthStatuses ?? []);
    });
  }

  /** Never rejects. */
  ofStorage(name: string): Promise<StorageHealthReply> {
    return this.#ask(name, 'storageHealth', async (driver) => {
      const { backendHealth } = await driver.call('nodeGetStorageHealth', { secrets: {} });
      return storageHealthConditions(backendHealth);
    });
  }

  #ask<Condition>(
    name: string,
    capability: keyof DriverCapabilities,
    read: (driver: CsiDriver) => Promise<readonly Condition[]>,
  ): Promise<HealthReply<Condition>> {
    return this.#calls.run(name, async () => {
      const driver = this.#options.drivers.get(name);
      if (!driver) return { outcome: 'unsupported' };
      try {
        if (!(await driver.capabilities())[capability]) return { outcome: 'unsupported' };
        return { outcome: 'reported', conditions: await read(driver) };
      } catch (err) {
        // Not the driver's own text, which may have a part of a secret that it was once given.
        return { outcome: 'failed', message: err instanceof RpcError ? codeName(err.code) : messageOf(err) };
      }
    });
  }

  /** A path at which the volume neither is nor may be is empty. */
  #paths({ podUID, specName, driver, volumeHandle }: VolumeHealthRequest) {
    const { rootDir, table } = this.#options;
    const volume = table.find(driver, volumeHandle);
    const target = targetPath(rootDir, podUID, specName);
    return {
      stagingTargetPath: volume?.staged === undefined ? '' : stagingPath(rootDir, driver, volumeHandle),
      volumePublishPath: volume?.published.has(target) === true ? target : '',
    };
  }
}
