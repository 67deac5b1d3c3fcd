/** Replaces one rotated log by its archive. */
import { constants } from 'node:fs';
import { lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openLogFolder, type LogFolder } from '../../../shared/container-logs/open-log-folder.ts';
import { hasWriter } from '../../../shared/linux/file-lease.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface CompressLogOptions {
  readonly podLogsDir: string;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called after each block with the ms that gzip took for it. */
  readonly rest: (tookMs: number) => Promise<void>;
}

/** The log is read in blocks of this size. gzip itself needs 256 KiB. */
const blockBytes = 128 * 1024;
/** After each 4 MiB the compression checks whether the log still exists. */
const statBytes = 32 * blockBytes;

export class RemovedLogError extends Error {}

/**
 * Compresses `path` into `<path>.gz` through `<path>.tmp`. Without its folder or the log, nothing happens. Rejects with the file system's error, when
 * something still writes to the log, or with RemovedLogError; the log then stays, without an archive.
 */
export async function compressLog(path: string, options: CompressLogOptions): Promise<void> {
  const folder = await openLogFolder(options.podLogsDir, path);
  // The pod is gone.
  if (!folder) return;
  try {
    const source = await open(join(folder.path, folder.log), sourceFlags).catch(ifMissing);
    if (!source) return;
    try {
      await replace(folder, source, options);
    } finally {
      await source.close();
    }
  } finally {
    await folder.handle.close();
  }
}

/** Writes the archive under a temporary name and replaces the log by it. A failure leaves the log, without an archive. */
async function replace({ path, log }: LogFolder, source: FileHandle, options: CompressLogOptions): Promise<void> {
  const stats = await source.stat();
  if (!stats.isFile()) throw new Error('it is not a regular file');
  // The runtime has not reopened its log. Lines that it still writes to this file would be lost.
  if (hasWriter(source.fd)) throw new Error('it is still being written');
  const temporary = join(path, `${log}.tmp`);
  await unlink(temporary).catch(ifMissing);
  const archive = await open(temporary, archiveFlags, stats.mode & 0o777);
  try {
    try {
      await copy(source, archive, options);
      // The log is removed below, so the archive must survive a crash of the host.
      await archive.datasync();
    } finally {
      await archive.close();
    }
    const current = await lstat(join(path, log)).catch(ifMissing);
    // A rotation has removed the log meanwhile.
    if (!current) return await unlink(temporary);
    await rename(temporary, join(path, `${log}.gz`));
  } catch (err) {
    await unlink(temporary).catch(ifMissing);
    throw err;
  }
  await unlink(join(path, log));
}

async function copy(source: FileHandle, archive: FileHandle, options: CompressLogOptions): Promise<void> {
  const write = async (blocks: AsyncIterable<Buffer>) => {
    for await (const block of blocks) await archive.appendFile(block);
  };
  await pipeline(read(source, options), createGzip(), write, { signal: options.signal });
}

async function* read(source: FileHandle, { clock, rest }: CompressLogOptions): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    // A rotation has removed the log. Its space is freed when this compression closes the file.
    if (position % statBytes === 0 && (await source.stat()).nlink === 0) throw new RemovedLogError();
    const { bytesRead, buffer } = await source.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const startedAtMs = clock.monotonic();
    yield buffer.subarray(0, bytesRead);
    await rest(clock.monotonic() - startedAtMs);
  }
}

/** Another program may have left a symlink or a pipe under the name of a log: the open does not follow the one, and does not wait for the other. */
const sourceFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const archiveFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

function ifMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT') throw err;
}
