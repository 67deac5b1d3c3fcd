/**
 * Measures mounted volumes by statfs (upstream: metricsStatFS; for a memory emptyDir, which upstream walks, the numbers are the same). A filesystem in memory is
 * asked in this process. Any other filesystem may hang, so a helper process asks it.
 */
import type { HelperOperations } from '../../../shared/contracts/helper.ts';
import { readFilesystemUsage } from '../../../shared/state/filesystem-usage.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { volumeMetricCollectionDuration } from '../../../shared/metrics/definitions/volumes.ts';
import type { FilesystemUsage } from '../../../shared/state/filesystem-table.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface MountedVolume {
  readonly path: string;
  readonly mount: { readonly fsType: string; readonly device: string };
}

export interface MountMeasurerOptions<V extends MountedVolume> {
  readonly periodMs: number;
  readonly statfs: (path: string) => Promise<HelperOperations['statfs']['reply']>;
  readonly onMeasured: (volume: V, usage: FilesystemUsage) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

const memoryFilesystems = new Set(['tmpfs', 'ramfs', 'hugetlbfs']);
/** How long a device is left alone after its first hang. Each further hang doubles the time. */
const firstHangDelayMs = 5 * 60_000;
const maxHangDelayMs = 60 * 60_000;

export class MountMeasurer<V extends MountedVolume> {
  readonly #options: MountMeasurerOptions<V>;
  /** When each volume is measured again, by path. */
  #dueAtMs = new Map<string, number>();
  /** Devices that did not answer. All mounts of a dead server have one device, so only one of these mounts is tried. */
  readonly #hanging = new Map<string, { readonly untilMs: number; readonly hangs: number }>();
  #isMeasuring = false;

  constructor(options: MountMeasurerOptions<V>) {
    this.#options = options;
  }

  /** Measures the volumes that are due. Does nothing while an earlier call waits for a filesystem. */
  async measureDue(volumes: readonly V[]): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    try {
      this.#dueAtMs = new Map(volumes.flatMap(({ path }) => (this.#dueAtMs.has(path) ? [[path, this.#dueAtMs.get(path)!]] : [])));
      for (const volume of volumes) if (this.#isDue(volume)) await this.#measure(volume);
    } finally {
      this.#isMeasuring = false;
    }
  }

  #isDue({ path, mount }: V): boolean {
    const nowMs = this.#options.clock.monotonic();
    return (this.#dueAtMs.get(path) ?? 0) <= nowMs && (this.#hanging.get(mount.device)?.untilMs ?? 0) <= nowMs;
  }

  async #measure(volume: V): Promise<void> {
    const { clock, statfs, onMeasured, logger, periodMs, random = Math.random } = this.#options;
    const { path, mount } = volume;
    const beganAtMs = clock.monotonic();
    try {
      const usage = memoryFilesystems.has(mount.fsType)
        ? await readFilesystemUsage(path, clock.now())
        : toUsage(await statfs(path), clock.now());
      volumeMetricCollectionDuration.observe((clock.monotonic() - beganAtMs) / 1000, { metric_source: 'statfs' });
      this.#hanging.delete(mount.device);
      onMeasured(volume, usage);
    } catch (err) {
      logger.debug({ err, path }, 'Failed to measure a volume');
      if ((err as NodeJS.ErrnoException).code === 'ETIMEDOUT') this.#noteHang(volume, err);
    }
    this.#dueAtMs.set(path, clock.monotonic() + periodMs * (1 + random()));
  }

  #noteHang({ path, mount }: V, err: unknown): void {
    const { clock, logger } = this.#options;
    const hangs = this.#hanging.get(mount.device)?.hangs ?? 0;
    this.#hanging.set(mount.device, {
      untilMs: clock.monotonic() + Math.min(firstHangDelayMs * 2 ** hangs, maxHangDelayMs),
      hangs: hangs + 1,
    });
    logger.warn({ err, path, fsType: mount.fsType }, 'A volume can’t be measured: its filesystem hangs');
  }
}

function toUsage(reply: HelperOperations['statfs']['reply'], nowMs: number): FilesystemUsage {
  const { capacityBytes, availableBytes, usedBytes, inodes, inodesFree } = reply;
  return { readAtMs: nowMs, capacityBytes, availableBytes, usedBytes, inodes, inodesFree, inodesUsed: inodes - inodesFree };
}
