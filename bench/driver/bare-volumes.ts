/** Makes the calls that every kubelet must make for a volume, and nothing else. How long they take is the driver's part, by its journal. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { CsiDriver } from '../../src/workers/volumes/csi/csi-driver.ts';
import { VolumeCapability_AccessMode_Mode } from '../../src/workers/volumes/csi/generated/csi-v1.ts';
import type { BenchContext } from '../harness/benchmark.ts';
import { BenchCsiDriver, driverNames } from '../harness/csi-drivers.ts';
import { percentile, unionLengthMs } from '../harness/statistics.ts';
import type { DriverCall } from '../harness/volume-pod-times.ts';
import { forEachConcurrently } from './for-each-concurrently.ts';

const volumeCapability = {
  block: undefined,
  mount: { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' },
  accessMode: { mode: VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};
const noContext = { publishContext: {}, secrets: {}, volumeContext: {} };

/** The medians of a volume. */
export interface BareVolumes {
  readonly startMs: number;
  readonly unpublishMs: number;
  readonly endMs: number;
  /** From the start of the first call until the end of the last one that starts a volume. */
  readonly allStartedMs: number;
}

/** @param parallelism how many volumes start at a time */
export async function runBareVolumes(context: BenchContext, count: number, parallelism: number): Promise<BareVolumes> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bare-csi-'));
  context.onEnd(async () => removeFolder(folder));
  const driverProcess = new BenchCsiDriver(context, folder, driverNames.plain);
  await driverProcess.start();
  const driver = new CsiDriver(driverProcess.options.name, driverProcess.options.socket);
  const names = Array.from({ length: count }, (_, index) => `bare-${index}`);
  await forEachConcurrently(names, parallelism, (name) => start(driver, folder, name));
  await forEachConcurrently(names, parallelism, (name) => end(driver, folder, name));
  await driverProcess.stop();
  const calls = driverProcess.calls();
  const started = calls.filter(({ method }) => startMethods.has(method));
  return {
    startMs: medianOf(names, started),
    unpublishMs: medianOf(
      names,
      calls.filter(({ method }) => method === 'NodeUnpublishVolume'),
    ),
    endMs: medianOf(
      names,
      calls.filter(({ method }) => !startMethods.has(method)),
    ),
    allStartedMs: Math.max(...started.map(({ endMs }) => endMs)) - Math.min(...started.map(({ startMs }) => startMs)),
  };
}

const startMethods: ReadonlySet<string> = new Set(['NodeStageVolume', 'NodePublishVolume']);

function medianOf(names: readonly string[], calls: readonly DriverCall[]): number {
  return percentile(
    names.map((name) => unionLengthMs(calls.filter(({ volumeID }) => volumeID === name))),
    50,
  );
}

const pathsOf = (folder: string, name: string) => ({
  stagingTargetPath: join(folder, name, 'globalmount'),
  targetPath: join(folder, name, 'mount'),
});

async function start(driver: CsiDriver, folder: string, volumeId: string): Promise<void> {
  const { stagingTargetPath, targetPath } = pathsOf(folder, volumeId);
  mkdirSync(stagingTargetPath, { recursive: true });
  const volume = { volumeId, stagingTargetPath, volumeCapability, ...noContext };
  await driver.call('nodeStageVolume', volume);
  await driver.call('nodePublishVolume', { ...volume, targetPath, readonly: false });
}

async function end(driver: CsiDriver, folder: string, volumeId: string): Promise<void> {
  const { stagingTargetPath, targetPath } = pathsOf(folder, volumeId);
  await driver.call('nodeUnpublishVolume', { volumeId, targetPath });
  await driver.call('nodeUnstageVolume', { volumeId, stagingTargetPath });
}
