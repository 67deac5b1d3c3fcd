/**
 * The records on disk: a file each below `image_manager`, named by the hash of what it is about (upstream fs_pullrecords.go). What was
 * written is there after a loss of power too: without the intent of its pull, an image that came with a secret would then be everybody's.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { toGoJSON } from '../../../../shared/kubernetes/go-text.ts';
import { makeFolderDurably, writeDurably } from '../../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import { apiVersion, olderVersions } from './records.ts';

const prefix = 'sha256-';
const temporary = '.tmp';

export function recordFileName(about: string): string {
  return `${prefix}${createHash('sha256').update(about).digest('hex')}`;
}

export interface RecordFilesOptions<T> {
  readonly dir: string;
  readonly kind: 'ImagePullIntent' | 'ImagePulledRecord';
  /** What a record is about: its file is named by it. */
  readonly aboutOf: (record: T) => string;
  /** How many there are. */
  readonly size: { set(value: number): void };
  readonly logger: Logger;
}

export class RecordFiles<T extends object> {
  readonly #options: RecordFilesOptions<T>;
  /** Of files that cannot be read: what they said is not known. */
  readonly #broken = new Set<string>();
  readonly #names = new Set<string>();
  /** One write after the other: two of one file would meet in its temporary one, and many would keep all of the file threads waiting. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: RecordFilesOptions<T>) {
    this.#options = options;
  }

  /** Makes the folder, and reads all that is in it. One that cannot be read is logged and left. */
  async readAll(): Promise<T[]> {
    const { dir, logger, aboutOf } = this.#options;
    await makeFolderDurably(dir);
    const records: T[] = [];
    for (const name of await readdir(dir)) {
      if (!name.startsWith(prefix) || name.endsWith(temporary)) continue;
      this.#names.add(name);
      try {
        const { record, isOld } = this.#decode(await readFile(join(dir, name), 'utf8'), name);
        if (isOld) await this.write(record);
        if (recordFileName(aboutOf(record)) === name) records.push(record);
      } catch (err) {
        this.#broken.add(name);
        logger.error({ file: join(dir, name), err: messageOf(err) }, 'A record of an image pull cannot be read');
      }
    }
    this.#options.size.set(this.#names.size);
    return records;
  }

  isBroken(about: string): boolean {
    return this.#broken.has(recordFileName(about));
  }

  write(record: T): Promise<void> {
    const { dir, kind, aboutOf } = this.#options;
    const name = recordFileName(aboutOf(record));
    return this.#next(async () => {
      const path = join(dir, name);
      await writeDurably(path, `${path}${temporary}`, `${toGoJSON({ kind, apiVersion, ...record })}\n`);
      this.#broken.delete(name);
      this.#options.size.set(this.#names.add(name).size);
    });
  }

  /** Not synced: an intent that comes back with a loss of power says no more than that the kubelet pulled the image. */
  remove(about: string): Promise<void> {
    const name = recordFileName(about);
    return this.#next(async () => {
      await rm(join(this.#options.dir, name), { force: true });
      this.#names.delete(name);
      this.#options.size.set(this.#names.size);
    });
  }

  #next(step: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(step);
    this.#writing = done.catch(() => {});
    return done;
  }

  #decode(text: string, name: string): { readonly record: T; readonly isOld: boolean } {
    const { kind: wanted, aboutOf } = this.#options;
    const { kind, apiVersion: version, ...record } = JSON.parse(text) as { kind?: unknown; apiVersion?: unknown } & T;
    const isOld = olderVersions.includes(String(version));
    if (kind !== wanted || (version !== apiVersion && !isOld)) throw new Error(`${name} is no ${wanted} of a version that is known`);
    if (typeof aboutOf(record as unknown as T) !== 'string') throw new Error(`${name} does not say what it is about`);
    return { record: record as unknown as T, isOld };
  }
}
