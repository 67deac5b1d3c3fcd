/** Measures the filesystem of the runtime's images (upstream ImageFsStats of pkg/kubelet/stats). */
import { statfs } from 'node:fs/promises';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { CriClient } from '../../../shared/cri/client.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ImageFilesystem } from './select-images.ts';

export class ImageFilesystemReader {
  readonly #images: CriClient['images'];
  readonly #deadlineMs: number;
  readonly #clock: Clock;
  /** A filesystem that hangs occupies one file thread, not one more with each collection. */
  #reading: Promise<ImageFilesystem> | null = null;

  constructor(images: CriClient['images'], deadlineMs: number, clock: Clock) {
    this.#images = images;
    this.#deadlineMs = deadlineMs;
    this.#clock = clock;
  }

  /** Returns a capacity of 0 when the filesystem is not one of this host. Rejects when the runtime or the filesystem does not answer. */
  async read(): Promise<ImageFilesystem> {
    const { imageFilesystems } = await this.#images.call('imageFsInfo', {}, { deadlineMs: this.#deadlineMs });
    const [filesystem] = imageFilesystems;
    if (!filesystem) throw new Error('imageFs information is unavailable');
    // As upstream, uses the first of several filesystems.
    return this.#measure(filesystem.fsId?.mountpoint ?? '');
  }

  #measure(mountpoint: string): Promise<ImageFilesystem> {
    this.#reading ??= statfsOf(mountpoint).finally(() => (this.#reading = null));
    const reading = this.#reading;
    return new Promise((resolve, reject) => {
      const onDeadline = () => reject(new Error(`get filesystem info: ${mountpoint} did not answer within ${this.#deadlineMs} ms`));
      const cancel = this.#clock.after(this.#deadlineMs, onDeadline);
      reading.then(resolve, reject).finally(cancel);
    });
  }
}

async function statfsOf(mountpoint: string): Promise<ImageFilesystem> {
  try {
    const { bsize, blocks, bavail } = await statfs(mountpoint);
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  } catch (err) {
    // The runtime may run in another mount namespace.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return { capacityBytes: 0, availableBytes: 0 };
    throw new Error(`get filesystem info: Failed to get the info of the filesystem with mountpoint: ${messageOf(err)}`, { cause: err });
  }
}
