/**
 * Which pods have been admitted, and with which resources, on disk: a restart of the kubelet asks none of them again. Asked again, a pod that
 * runs would be refused because the node's labels or its room have changed since, and its containers would be killed. The file is the Go
 * kubelet's, so that nothing ends at a change-over in either direction.
 *
 * Nobody waits for the disk, so a pod may be admitted again if the kubelet or the host goes down right behind its admission: within 20 ms
 * and what one or, under a burst, two synced writes take (milliseconds; more on a slow disk). What was written outlives a loss of power.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { writeDurably } from '../../../shared/linux/write-durably.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { decodeAllocations, encodeAllocations } from './allocation-checkpoint.ts';
import { toAllocation, withAllocation, type AllocationGates, type PodAllocation } from './allocation.ts';

const fileName = 'allocated_pods_state';
/** Pods that come in one burst are written together. */
const writeDelayMs = 20;
/** Far more than a node has ever had: a file with more is not ours. */
const maxBytes = 64 * 1024 * 1024;

export interface AllocationManagerOptions {
  readonly rootDir: string;
  readonly gates: AllocationGates;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: to the disk. */
  readonly write?: typeof writeDurably;
}

export class AllocationManager {
  readonly #options: AllocationManagerOptions;
  /** Null: it was admitted, and what it has is recorded when it starts again. */
  readonly #admitted: Map<PodUID, PodAllocation | null>;
  /** One object for each version of a pod: others remember what they made of it. */
  readonly #allocated = new WeakMap<Pod, { readonly allocation: PodAllocation; readonly pod: Pod }>();
  #cancelWrite: (() => void) | null = null;
  /** Something has changed since the write under way began. */
  #isDue = false;
  #writing: Promise<void> | null = null;

  private constructor(options: AllocationManagerOptions, admitted: Map<PodUID, PodAllocation>) {
    this.#options = options;
    this.#admitted = admitted;
  }

  /** A file that can't be read is said, and counts as none: then pods are admitted anew. Upstream does not start. */
  static async open(options: AllocationManagerOptions): Promise<AllocationManager> {
    const path = join(options.rootDir, fileName);
    try {
      const content = await readFile(path, 'utf8');
      if (content.length > maxBytes) throw new Error(`it has ${content.length} bytes, more than ${maxBytes}`);
      return new AllocationManager(options, decodeAllocations(content));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT')
        options.logger.error({ path, err: messageOf(err) }, 'Cannot read which pods were admitted; they are admitted anew');
      return new AllocationManager(options, new Map());
    }
  }

  isAdmitted(uid: PodUID): boolean {
    return this.#admitted.has(uid);
  }

  /** The pod is admitted with the resources that it asks for. Those of an earlier admission stay. */
  setAllocatedResources(pod: Pod): void {
    const uid = podUID(pod);
    if (this.#admitted.get(uid)) return;
    this.#admitted.set(uid, toAllocation(pod, this.#options.gates));
    this.#writeSoon();
  }

  /** The pod with the resources that it was admitted with; as it is, when it was not. */
  updatePodFromAllocation(pod: Pod): Pod {
    const allocation = this.#admitted.get(podUID(pod));
    if (!allocation) return pod;
    const known = this.#allocated.get(pod);
    if (known?.allocation === allocation) return known.pod;
    const made = withAllocation(pod, allocation, this.#options.gates);
    this.#allocated.set(pod, { allocation, pod: made });
    return made;
  }

  /** No source has the pod any more: one that comes back by its UID, as a static pod may, starts with what it asks for then. */
  removePod(uid: PodUID): void {
    if (this.#admitted.has(uid)) this.#admitted.set(uid, null);
  }

  /** Only these are remembered. */
  removeOrphanedPods(uids: ReadonlySet<PodUID>): void {
    const before = this.#admitted.size;
    for (const uid of this.#admitted.keys()) if (!uids.has(uid)) this.#admitted.delete(uid);
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
        await write(path, `${path}.new`, encodeAllocations(this.#toWrite()));
      } catch (err) {
        logger.error({ path, err }, 'Cannot write which pods were admitted; a restart would admit them anew');
      }
    }
    this.#writing = null;
  }

  /** One that was released is admitted anew if the kubelet goes down before it is forgotten. */
  #toWrite(): Map<PodUID, PodAllocation> {
    return new Map([...this.#admitted].flatMap(([uid, allocation]) => (allocation ? [[uid, allocation] as const] : [])));
  }
}
