/**
 * Which pods have been admitted, on disk: a restart of the kubelet asks none of them again. Asked again, a pod that runs would be refused
 * because the node's labels or its room have changed since, and its containers would be killed. What the Go kubelet keeps of the pods
 * that it has admitted (allocated_pods_state) counts as well, so that nothing ends at a change-over.
 *
 * Nobody waits for the disk, so a pod may be admitted again if the kubelet or the host goes down right behind its admission: within 20 ms
 * and what one or, under a burst, two synced writes take (milliseconds; more on a slow disk). What was written outlives a loss of power.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { writeDurably } from '../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';

const fileName = 'admitted_pods_state';
const goFileName = 'allocated_pods_state';
/** Pods that come in one burst are written together. */
const writeDelayMs = 20;
/** Far more than a node has ever had: a file with more is not ours. */
const maxBytes = 4 * 1024 * 1024;

export interface AdmissionJournalOptions {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: to the disk. */
  readonly write?: typeof writeDurably;
}

export class AdmissionJournal {
  readonly #options: AdmissionJournalOptions;
  readonly #admitted: Set<PodUID>;
  #cancelWrite: (() => void) | null = null;
  /** Something has changed since the write under way began. */
  #isDue = false;
  #writing: Promise<void> | null = null;

  private constructor(options: AdmissionJournalOptions, admitted: Iterable<PodUID>) {
    this.#options = options;
    this.#admitted = new Set(admitted);
  }

  /** A file that can't be read is said, and counts as none: then pods are admitted anew, as upstream does. */
  static async open(options: AdmissionJournalOptions): Promise<AdmissionJournal> {
    const { rootDir, logger } = options;
    const read = async (name: string, uidsIn: (content: unknown) => readonly string[] | null): Promise<readonly string[]> => {
      const path = join(rootDir, name);
      try {
        const content = await readFile(path, 'utf8');
        if (content.length > maxBytes) throw new Error(`it has ${content.length} bytes, more than ${maxBytes}`);
        const uids = uidsIn(JSON.parse(content));
        if (!uids) throw new Error('it is not what it should be');
        return uids;
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOENT')
          logger.error({ path, err: messageOf(err) }, 'Cannot read which pods were admitted; they are admitted anew');
        return [];
      }
    };
    const [own, go] = await Promise.all([read(fileName, ownUIDs), read(goFileName, goUIDs)]);
    return new AdmissionJournal(options, [...own, ...go] as PodUID[]);
  }

  has(uid: PodUID): boolean {
    return this.#admitted.has(uid);
  }

  add(uid: PodUID): void {
    if (this.#admitted.has(uid)) return;
    this.#admitted.add(uid);
    this.#writeSoon();
  }

  /** Only these are remembered. */
  keep(uids: ReadonlySet<PodUID>): void {
    const before = this.#admitted.size;
    for (const uid of this.#admitted) if (!uids.has(uid)) this.#admitted.delete(uid);
    if (this.#admitted.size !== before) this.#writeSoon();
  }

  /** Writes what is to be written. */
  async close(): Promise<void> {
    if (this.#cancelWrite) {
      this.#cancelWrite();
      this.#cancelWrite = null;
      this.#write();
    }
    await this.#writing;
  }

  #writeSoon(): void {
    this.#cancelWrite ??= this.#options.clock.after(writeDelayMs, () => {
      this.#cancelWrite = null;
      this.#write();
    });
  }

  /** One write at a time: what comes while it lasts is written by the next one, however many pods that are. */
  #write(): void {
    this.#isDue = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { rootDir, logger, write = writeDurably } = this.#options;
    const path = join(rootDir, fileName);
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await write(path, `${path}.new`, JSON.stringify({ admitted: [...this.#admitted] }));
      } catch (err) {
        logger.error({ path, err }, 'Cannot write which pods were admitted; a restart would admit them anew');
      }
    }
    this.#writing = null;
  }
}

function ownUIDs(content: unknown): readonly string[] | null {
  const { admitted } = (content ?? {}) as { readonly admitted?: unknown };
  return Array.isArray(admitted) && admitted.every((uid) => typeof uid === 'string') ? admitted : null;
}

/** `{"data": "{\"entries\": {<uid>: …}}", "checksum": …}` */
function goUIDs(content: unknown): readonly string[] | null {
  const { data } = (content ?? {}) as { readonly data?: unknown };
  if (typeof data !== 'string') return null;
  const { entries = {} } = (JSON.parse(data) ?? {}) as { readonly entries?: unknown };
  return typeof entries === 'object' && entries !== null ? Object.keys(entries) : null;
}
