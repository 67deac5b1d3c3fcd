/**
 * Stores records on disk, one file per record below `image_manager`, named by a hash (upstream fs_pullrecords.go). Writes survive a power
 * loss: without the intent of its pull, an image that required a secret would become accessible to every pod.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { toGoJSON } from '../../../../shared/kubernetes/go-text.ts';
import { makeFolderDurably, writeDurably } from '../../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import { recordApiVersion, olderVersions } from './image-pulled-record.ts';

const prefix = 'sha256-';
const temporary = '.tmp';

export function recordFileName(subject: string): string {
  return `${prefix}${createHash('sha256').update(subject).digest('hex')}`;
}

export interface RecordFilesOptions<T> {
  readonly dir: string;
  readonly kind: 'ImagePullIntent' | 'ImagePulledRecord';
  /** Returns the record's subject, whose hash is the file name. */
  readonly subjectOf: (record: T) => string;
  /** The gauge of the number of files. */
  readonly countGauge: { set(value: number): void };
  readonly logger: Logger;
}

export class RecordFiles<T extends object> {
  readonly #options: RecordFilesOptions<T>;
  /** The names of unreadable files, whose content is unknown. */
  readonly #unreadable = new Set<string>();
  /** The names of all record files, for their number. */
  readonly #names = new Set<string>();
  /** Serializes writes: two writes of one record would share a temporary file, and many parallel writes would occupy all file threads. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(options: RecordFilesOptions<T>) {
    this.#options = options;
  }

  /** Creates the directory and reads its records. Logs and skips unreadable files. */
  async readAll(): Promise<T[]> {
    const { dir, logger, subjectOf } = this.#options;
    await makeFolderDurably(dir);
    const records: T[] = [];
    for (const name of await readdir(dir)) {
      if (!name.startsWith(prefix) || name.endsWith(temporary)) continue;
      this.#names.add(name);
      try {
        const { record, isOld } = this.#decode(await readFile(join(dir, name), 'utf8'), name);
        if (isOld) await this.write(record);
        if (recordFileName(subjectOf(record)) === name) records.push(record);
      } catch (err) {
        this.#unreadable.add(name);
        logger.error({ file: join(dir, name), err: messageOf(err) }, 'Failed to read image pull record');
      }
    }
    this.#options.countGauge.set(this.#names.size);
    return records;
  }

  isUnreadable(subject: string): boolean {
    return this.#unreadable.has(recordFileName(subject));
  }

  write(record: T): Promise<void> {
    const { dir, kind, subjectOf } = this.#options;
    const name = recordFileName(subjectOf(record));
    return this.#enqueue(async () => {
      const path = join(dir, name);
      await writeDurably(path, `${path}${temporary}`, `${toGoJSON({ kind, apiVersion: recordApiVersion, ...record })}\n`);
      this.#unreadable.delete(name);
      this.#options.countGauge.set(this.#names.add(name).size);
    });
  }

  /** Not synced to disk: an intent that reappears after a power loss only marks the image as pulled by the kubelet. */
  remove(subject: string): Promise<void> {
    const name = recordFileName(subject);
    return this.#enqueue(async () => {
      await rm(join(this.#options.dir, name), { force: true });
      this.#names.delete(name);
      this.#options.countGauge.set(this.#names.size);
    });
  }

  #enqueue(write: () => Promise<void>): Promise<void> {
    const written = this.#lastWrite.then(write);
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  #decode(text: string, name: string): { readonly record: T; readonly isOld: boolean } {
    const { kind: expected, subjectOf } = this.#options;
    const { kind, apiVersion: version, ...record } = JSON.parse(text) as { kind?: unknown; apiVersion?: unknown } & T;
    const isOlderVersion = olderVersions.includes(String(version));
    if (kind !== expected || (version !== recordApiVersion && !isOlderVersion))
      throw new Error(`${name} is not a ${expected} of a known version`);
    if (typeof subjectOf(record as unknown as T) !== 'string') throw new Error(`${name} has no subject`);
    return { record: record as unknown as T, isOld: isOlderVersion };
  }
}
