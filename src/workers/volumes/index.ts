/**
 * The volumes thread owns the volumes that outlive a pod, or that pods share: the calls to CSI drivers, what is staged and published, and the order of the
 * operations on each volume. csi/ has the drivers, their messages and upstream's files; local/ mounts the folders and disks of this host. Everything below
 * a volume's path goes through a helper process. Started by main (main/threads/volumes-thread.ts) with the first driver or claim; main/volumes/ is the client.
 */
import { readFileSync } from 'node:fs';
import type { SlowGroupChange, VolumeReply, VolumesApi, VolumesWorkerData } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { HelperClient } from '../../shared/helper-client/index.ts';
import { startStorageOperationTimer } from '../../shared/metrics/storage-operation-timer.ts';
import { enterThread, serveThread } from '../../shared/thread/enter-thread.ts';
import { postNotification } from '../../shared/thread/ordered-notification.ts';
import { systemClock as clock } from '../../shared/time/clock.ts';
import { CsiDriver } from './csi/csi-driver.ts';
import { CsiHealth } from './csi/csi-health.ts';
import { CsiVolumeStats } from './csi/csi-volume-stats.ts';
import { checkHostPathVolume } from './local/check-host-path.ts';
import { LocalVolumes } from './local/local-volumes.ts';
import { recoverVolumes } from './recover-volumes.ts';
import { VolumeOperations } from './volume-operations.ts';
import { VolumeTable } from './volume-table.ts';

const { workerData, logger, heartbeat } = enterThread<VolumesWorkerData>();
const { rootDir, nodeName } = workerData;
const bootID = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
const drivers = new Map([...workerData.drivers].map(([name, endpoint]) => [name, new CsiDriver(name, endpoint)]));
const table = new VolumeTable();
const helper = new HelperClient({ logger });
const onSlowGroupChange = (change: SlowGroupChange) => postNotification(change);
const operations = new VolumeOperations({ rootDir, nodeName, bootID, table, drivers, helper, onSlowGroupChange, clock, logger });
const volumeStats = new CsiVolumeStats({ rootDir, drivers });
const health = new CsiHealth({ rootDir, drivers, table });
const localHelper = new HelperClient({ logger });
const localVolumes = new LocalVolumes({ rootDir, helper: localHelper, onSlowGroupChange, clock, logger });
void localVolumes.removeUnused();
/** The recovery of the records. Operations on CSI volumes wait for the recovery, and fail with its error. */
const recovered = recoverVolumes({ rootDir, bootID, table, logger }).then(() => table.report(postNotification));
recovered.catch((err: unknown) => logger.error({ err }, 'Could not read which volumes are mounted; no volume is changed'));

/** @param plugin as upstream's GetFullQualifiedPluginNameForVolume */
async function measured(plugin: string, reply: Promise<VolumeReply>): Promise<VolumeReply> {
  const stopTimer = startStorageOperationTimer('volume_mount');
  const { outcome } = await reply;
  stopTimer(plugin, outcome === 'done');
  return reply;
}

const api: VolumesApi = {
  recover: () => recovered,
  async setDriver(name, endpoint) {
    const driver = new CsiDriver(name, endpoint);
    try {
      const info = await driver.info();
      drivers.set(name, driver);
      await recovered;
      operations.unstageUnused(name);
      return { outcome: 'info', info };
    } catch (err) {
      return { outcome: 'failed', message: messageOf(err) };
    }
  },
  async driverInfo(name) {
    const driver = drivers.get(name);
    if (!driver) return { outcome: 'failed', message: `driver name ${name} not found in the list of registered CSI drivers` };
    return driver.info().then(
      (info) => ({ outcome: 'info', info }) as const,
      (err: unknown) => ({ outcome: 'failed', message: messageOf(err) }) as const,
    );
  },
  async removeDriver(name) {
    drivers.delete(name);
  },
  async publishVolume(request) {
    await recovered;
    return measured(`kubernetes.io/csi:${request.driver}`, operations.publish(request));
  },
  publishLocalVolume: (request) => measured('kubernetes.io/local-volume', localVolumes.publish(request)),
  checkHostPath: (path, type) => checkHostPathVolume(localHelper, path, type),
  volumeStats: (request) => volumeStats.read(request),
  volumeHealth: (request) => health.ofVolume(request),
  storageHealth: (driver) => health.ofStorage(driver),
  async unpublishVolume(request) {
    if (request.plugin === 'kubernetes.io/local-volume') return localVolumes.unpublish(request);
    await recovered;
    return operations.unpublish(request);
  },
  async close() {
    heartbeat.stop();
    operations.close();
    localVolumes.close();
    await Promise.all([helper.close(), localHelper.close()]);
  },
};
serveThread(api);
