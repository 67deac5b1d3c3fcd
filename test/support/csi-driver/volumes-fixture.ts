/** The operations of the volumes thread on the test driver, in a root directory of their own. Needs root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PublishVolumeRequest } from '../../../src/shared/contracts/volumes.ts';
import { HelperClient } from '../../../src/shared/helper-client/index.ts';
import { systemClock as clock } from '../../../src/shared/time/clock.ts';
import { CsiDriver } from '../../../src/workers/volumes/csi/csi-driver.ts';
import { recoverVolumes } from '../../../src/workers/volumes/recover-volumes.ts';
import { VolumeOperations } from '../../../src/workers/volumes/volume-operations.ts';
import { VolumeTable } from '../../../src/workers/volumes/volume-table.ts';
import { silentLogger as logger } from '../logger.ts';
import { parseMountInfo } from './mounted.ts';
import type { CsiDriverOptions } from './options.ts';
import { TestCsiDriver } from './test-csi-driver.ts';

export const driverName = 'test.csi.example';

/** What a kubelet knows between two of its starts. */
export interface VolumesRun {
  readonly operations: VolumeOperations;
  readonly table: VolumeTable;
  readonly drivers: Map<string, CsiDriver>;
}

export class VolumesFixture {
  readonly rootDir = mkdtempSync(join(tmpdir(), 'kn-volumes-'));
  readonly driver: TestCsiDriver;
  readonly #helper = new HelperClient({ logger });
  #run: VolumesRun | undefined;

  constructor(options: Partial<CsiDriverOptions> = {}) {
    this.driver = new TestCsiDriver({
      name: driverName,
      nodeID: 'n1',
      socket: join(this.rootDir, 'plugins', driverName, 'csi.sock'),
      registrationSocket: join(this.rootDir, 'plugins_registry', `${driverName}-reg.sock`),
      stateDir: join(this.rootDir, 'driver'),
      ...options,
    });
  }

  /** As a kubelet that starts, after the one before was killed. */
  async startRun({ bootID = 'boot-1', hasDriver = true } = {}): Promise<VolumesRun> {
    this.#run?.operations.close();
    const { rootDir } = this;
    const table = new VolumeTable();
    const drivers = new Map(hasDriver ? [[driverName, new CsiDriver(driverName, this.driver.options.socket)]] : []);
    await recoverVolumes({ rootDir, bootID, table, logger });
    const operations = new VolumeOperations({
      rootDir,
      nodeName: 'n1',
      bootID,
      table,
      drivers,
      helper: this.#helper,
      onSlowGroupChange: () => {},
      clock,
      logger,
    });
    this.#run = { operations, table, drivers };
    return this.#run;
  }

  request(podUID: string, overrides: Partial<PublishVolumeRequest> = {}): PublishVolumeRequest {
    mkdirSync(join(this.rootDir, 'pods', podUID, 'volumes'), { recursive: true });
    return {
      podUID,
      lifecycle: 'Persistent',
      specName: 'pv1',
      driver: driverName,
      volumeHandle: 'v1',
      fsType: 'ext4',
      volumeAttributes: {},
      podAttributes: {},
      stageSecrets: {},
      publishSecrets: {},
      mountOptions: [],
      accessModes: ['ReadWriteOnce'],
      readOnly: false,
      fsGroup: null,
      needsAttachment: false,
      publishContext: {},
      ...overrides,
    };
  }

  mounts(): string[] {
    return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter((point) => point.startsWith(`${this.rootDir}/`));
  }

  async close(): Promise<void> {
    this.#run?.operations.close();
    await this.#helper.close();
    await this.driver.stop();
    for (const point of this.mounts().toReversed()) execFileSync('umount', ['-l', point]);
    rmSync(this.rootDir, { recursive: true });
  }
}
