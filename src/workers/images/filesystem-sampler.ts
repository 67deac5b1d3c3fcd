/**
 * Samples the filesystems of images and containers: their mount points and used bytes from the runtime, the rest from statfs. Upstream: ImageFsStats of
 * pkg/kubelet/stats/cadvisor_stats_provider.go and cri_stats_provider.go.
 */
import { SharedFetch } from '../../shared/concurrency/shared-fetch.ts';
import type { FilesystemUsage as RuntimeUsage } from '../../shared/cri/generated/cri-v1.ts';
import type { CriClient } from '../../shared/cri/client.ts';
import { readFilesystemUsage } from '../../shared/state/filesystem-usage.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { filesystemRows, type FilesystemRow, type FilesystemWriter } from '../../shared/state/filesystem-table.ts';
import { openFilesystems } from '../../shared/state/usage-table.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface FilesystemSamplerOptions {
  readonly images: CriClient['images'];
  readonly deadlineMs: number;
  readonly usage: SharedArrayBuffer;
  /** Gate KubeletSeparateDiskGC: containers may have a filesystem of their own. */
  readonly splitDisks: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As often as the stats thread samples cgroups. */
const periodMs = 10_000;
/** Leaves the first seconds to the start of the kubelet. */
const firstDelayMs = 2000;

export class FilesystemSampler {
  readonly #options: FilesystemSamplerOptions;
  readonly #table: FilesystemWriter;
  readonly #samples = new SharedFetch(() => this.#sample());

  constructor(options: FilesystemSamplerOptions) {
    this.#options = options;
    this.#table = openFilesystems(options.usage, ['image', 'container']);
  }

  /** Resolves when `signal` is aborted. A sample that hangs delays the next one. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let failing = false;
    await clock.sleep(firstDelayMs, signal).catch(() => {});
    while (!signal.aborted) {
      try {
        await this.sample();
        failing = false;
      } catch (err) {
        if (!failing && !signal.aborted)
          logger.warn({ err, retryInMs: periodMs }, 'Failed to measure the filesystems of images and containers');
        failing = true;
      }
      await clock.sleep(periodMs, signal).catch(() => {});
    }
  }

  /** Calls that arrive during a sample share the next one. */
  sample(): Promise<void> {
    return this.#samples.get();
  }

  async #sample(): Promise<void> {
    const { images, deadlineMs, splitDisks } = this.#options;
    const { imageFilesystems, containerFilesystems } = await images.call('imageFsInfo', {}, { deadlineMs });
    // As upstream, uses the first of several filesystems.
    const [image] = imageFilesystems;
    if (!image) throw new Error('imageFs information is unavailable');
    const [container] = containerFilesystems;
    this.#table.put(filesystemRows.image, await this.#measure(image));
    const isSplit = splitDisks && container !== undefined && (await hasOtherDevice(image, container));
    this.#table.put(filesystemRows.container, await this.#measure(isSplit ? container : image));
  }

  async #measure({ fsId, usedBytes, inodesUsed }: RuntimeUsage): Promise<FilesystemRow> {
    const usage = await readUsageIfSeen(fsId?.mountpoint, this.#options.clock.now());
    return { ...usage, usedBytes: Number(usedBytes?.value ?? NaN), inodesUsed: Number(inodesUsed?.value ?? NaN) };
  }
}

/** The runtime may run in another mount namespace: then only its own numbers are known. */
async function readUsageIfSeen(mountPoint = '', readAtMs: number): Promise<Omit<FilesystemRow, 'usedBytes' | 'inodesUsed'>> {
  return readFilesystemUsage(mountPoint, readAtMs).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'ENOENT') throw err;
    return { readAtMs, device: NaN, capacityBytes: NaN, availableBytes: NaN, inodes: NaN, inodesFree: NaN };
  });
}

/** Two mount points that this host does not have count as two filesystems. */
async function hasOtherDevice(image: RuntimeUsage, container: RuntimeUsage): Promise<boolean> {
  const [a = '', b = ''] = [image.fsId?.mountpoint, container.fsId?.mountpoint];
  if (a === b) return false;
  // Only the devices are of interest, not the time of the sample: 0.
  const [first, second] = await Promise.all([readUsageIfSeen(a, 0), readUsageIfSeen(b, 0)]);
  return first.device !== second.device;
}
