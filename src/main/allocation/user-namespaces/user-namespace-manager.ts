/**
 * Keeps the ranges of all pods in memory, and each range in the file of its pod. Memory decides while the kubelet runs; a restarted kubelet reads the
 * files. A range is used only after its file is durable, and free only after its file is gone, so no two files ever have the same range.
 */
import { KeyedSequence } from '../../../shared/concurrency/keyed-sequence.ts';
import type { MappedIDs } from '../../../shared/contracts/runtime-status.ts';
import type { RuntimeHandler } from '../../../shared/contracts/node-info.ts';
import type { UserNamespaceChoice } from '../../../shared/contracts/pod-sync/allocation.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { PodFile } from '../pod-file.ts';
import { userNamespaceProblem } from './handler-support.ts';
import type { IDAllocator } from './id-allocator.ts';
import type { IDRange } from './id-range.ts';
import { decodeMappings, encodeMappings } from './mappings-file.ts';

export interface UserNamespaceManagerOptions {
  readonly file: PodFile;
  readonly allocator: IDAllocator;
  /** The runtime's handlers, as they are now. */
  readonly runtimeHandlers: () => readonly RuntimeHandler[];
  readonly logger: Logger;
}

export class UserNamespaceManager {
  readonly #options: UserNamespaceManagerOptions;
  /** Pods whose file could not be used, or not be removed. */
  readonly #broken = new Set<PodUID>();
  /** The file operation in progress of each pod. The operations of one pod follow each other. */
  readonly #operations = new KeyedSequence<PodUID>();

  constructor(options: UserNamespaceManagerOptions) {
    this.#options = options;
  }

  /**
   * Records the ranges in the files of all pods. A file that cannot be used is logged, and read again when its pod is synced: only that pod
   * fails. Upstream does not start.
   */
  async recover(): Promise<void> {
    const { file, allocator, logger } = this.#options;
    for (const uid of (await file.uids()).toSorted()) {
      await this.#recordFile(uid).catch((err: unknown) => {
        this.#broken.add(uid);
        logger.error({ podUID: uid, err: messageOf(err) }, 'Could not use the IDs of a pod’s user namespace');
      });
    }
    // Valid ranges come first: the pods with an unusable file can't take them away.
    for (const uid of this.#broken) {
      const range = await this.#readRange(uid).catch(() => undefined);
      if (range) allocator.block(uid, range);
    }
  }

  /**
   * Returns the range of a pod with `hostUsers: false`, a new one if it has none, or the problem in upstream's words. Never rejects.
   * @param current the IDs of the pod's ready sandbox. They win over the file: the pod's processes run with them, and containers join them.
   */
  async getOrCreate(uid: PodUID, runtimeHandler: string, current?: MappedIDs): Promise<UserNamespaceChoice> {
    const problem = userNamespaceProblem(this.#options.runtimeHandlers(), runtimeHandler);
    if (problem !== null) return { problem };
    try {
      const { firstID, length } = await this.#operations.run(uid, () => (current ? this.#adopt(uid, current) : this.#getOrCreate(uid)));
      return { hostID: firstID, length };
    } catch (err) {
      return { problem: messageOf(err) };
    }
  }

  /**
   * Gives the pod a range if the runtime supports user namespaces at all. Resolves when the range is durable. Never rejects: after a failure, the pod's
   * syncs try again and report the problem.
   */
  async reserve(uid: PodUID): Promise<void> {
    const { runtimeHandlers, logger } = this.#options;
    if (!runtimeHandlers().some(({ userNamespaces }) => userNamespaces)) return;
    try {
      await this.#operations.run(uid, () => this.#getOrCreate(uid));
    } catch (err) {
      logger.debug({ podUID: uid, err: messageOf(err) }, 'Could not give a new pod IDs for its user namespace');
    }
  }

  /** Frees the pod's range. Called when no process of the pod is left. Never rejects. */
  async release(uid: PodUID): Promise<void> {
    const { allocator, logger } = this.#options;
    if (!this.#hasAny(uid)) return;
    try {
      await this.#operations.run(uid, async () => {
        if (!this.#hasAny(uid)) return;
        await this.#options.file.remove(uid);
        allocator.release(uid);
        this.#broken.delete(uid);
      });
    } catch (err) {
      // Housekeeping tries again every two seconds.
      const level = this.#broken.has(uid) ? 'debug' : 'error';
      logger[level]({ podUID: uid, err: messageOf(err) }, 'Could not free the IDs of a pod’s user namespace');
      this.#broken.add(uid);
    }
  }

  /** Frees the ranges of all pods but these (upstream CleanupOrphanedPodUsernsAllocations). */
  releaseOrphans(isKnown: (uid: PodUID) => boolean): void {
    const uids = new Set([...this.#options.allocator.uids(), ...this.#broken]);
    for (const uid of uids) if (!isKnown(uid) && !this.#operations.has(uid)) void this.release(uid);
  }

  /** Resolves when no file operation is in progress. */
  async close(): Promise<void> {
    await this.#operations.settled();
  }

  #hasAny(uid: PodUID): boolean {
    return this.#options.allocator.get(uid) !== undefined || this.#broken.has(uid) || this.#operations.has(uid);
  }

  async #adopt(uid: PodUID, { hostID, length }: MappedIDs): Promise<IDRange> {
    const { file, allocator, logger } = this.#options;
    const present = allocator.get(uid);
    const isPresent = present?.firstID === hostID && present.length === length;
    if (isPresent && !this.#broken.has(uid)) return present;
    const range = { firstID: hostID, length };
    logger.warn(
      { podUID: uid, path: file.path(uid), recorded: present, sandbox: range },
      'Took the IDs of a pod’s user namespace from its sandbox',
    );
    allocator.adopt(uid, range);
    // If the write fails, the file stays marked as unusable, and the next sync writes it again.
    this.#broken.add(uid);
    await file.write(uid, encodeMappings(range));
    this.#broken.delete(uid);
    return range;
  }

  async #getOrCreate(uid: PodUID): Promise<IDRange> {
    const { file, allocator, logger } = this.#options;
    // Throws for a UID that cannot be the name of a folder.
    file.path(uid);
    // An administrator may have repaired the file.
    const hasFile = !this.#broken.has(uid) || (await this.#recordFile(uid));
    this.#broken.delete(uid);
    const present = allocator.get(uid);
    if (present && hasFile) return present;
    try {
      const range = allocator.allocate(uid);
      await file.write(uid, encodeMappings(range));
      logger.debug({ podUID: uid, ...range }, 'Allocated the IDs of a pod’s user namespace');
      return range;
    } catch (err) {
      await this.#forgetFailedAllocation(uid);
      throw new Error(`create user namespace: ${messageOf(err)}`, { cause: err });
    }
  }

  /** The write may have failed after it had replaced the file. */
  async #forgetFailedAllocation(uid: PodUID): Promise<void> {
    try {
      await this.#options.file.remove(uid);
      this.#options.allocator.release(uid);
    } catch {
      // The range stays the pod's: the next sync, or the pod's end, tries again.
      this.#broken.add(uid);
    }
  }

  /** Returns whether there is a file. Rejects with an Error that names the file. */
  async #recordFile(uid: PodUID): Promise<boolean> {
    try {
      const range = await this.#readRange(uid);
      if (range) this.#options.allocator.record(uid, range);
      return range !== undefined;
    } catch (err) {
      throw new Error(`user namespace: ${this.#options.file.path(uid)}: ${messageOf(err)}`, { cause: err });
    }
  }

  async #readRange(uid: PodUID): Promise<IDRange | undefined> {
    const content = await this.#options.file.read(uid);
    return content === undefined ? undefined : decodeMappings(content);
  }
}
