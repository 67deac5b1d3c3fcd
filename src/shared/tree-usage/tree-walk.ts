/**
 * Measures a directory tree that a tenant may change at any moment, in slices: each slice continues where the last one ended. Upstream: DiskUsage of
 * pkg/volume/util/fs/fs.go, and the same in containerd for writable layers: allocated blocks, each inode once, the root included, other devices left out.
 *
 *  - Each directory is opened from the handle of its parent, without following symlinks. So no symlink leads out, and no path is too long.
 *  - At most `maxHandles` directories are open. The handle of an upper directory is given up, and opened again as `..` of its child. If that is another
 *    directory by then, the walk ends there.
 *  - Memory grows with the depth only, by some hundred bytes per level, up to `maxDepth`.
 */
import { HardLinks } from './hard-links.ts';
import {
  closeDirectoryFd,
  openChild,
  openParent,
  openRoot,
  readEntries,
  seek,
  statChild,
  statDirectory,
  type FileFacts,
} from './tree-calls.ts';

export interface TreeWalkLimits {
  readonly maxHandles: number;
  readonly maxDepth: number;
  readonly maxHardLinks: number;
}
export const defaultLimits: TreeWalkLimits = { maxHandles: 32, maxDepth: 50_000, maxHardLinks: 20_000 };

interface Level {
  /** −1: closed, to be opened again from the child. */
  fd: number;
  readonly inode: number;
  readonly device: number;
  /** The position after the last entry that was counted. */
  position: bigint;
}

/** Errors when an entry was removed, or replaced by something that is not a directory, since it was read. */
const removed = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
const blockBytes = 512;
/** This many entries take some hundred microseconds. */
const entriesPerCheck = 64;

export class TreeWalk {
  readonly #limits: TreeWalkLimits;
  readonly #links: HardLinks;
  /** From the root to the directory that is being read. */
  readonly #levels: Level[] = [];
  /** The index of the uppermost level that is open. */
  #firstOpen = 0;
  readonly #facts: FileFacts = { isDirectory: false, blocks: 0, links: 0, inode: 0, device: 0, mount: 0 };
  readonly #root: { readonly device: number; readonly mount: number };
  #bytes = 0;
  #inodes = 0;
  #entries = 0;
  /** Part of the tree could not be read. */
  isIncomplete = false;

  /** Throws Node's kind of error when the root can't be opened: ENOENT, ENOTDIR. */
  constructor(path: string, limits: TreeWalkLimits = defaultLimits) {
    this.#limits = limits;
    this.#links = new HardLinks(limits.maxHardLinks);
    const fd = openRoot(path);
    statDirectory(fd, this.#facts);
    const { device, mount } = this.#facts;
    this.#root = { device, mount };
    this.#count(this.#facts);
    this.#push(fd);
  }

  get bytes(): number {
    return Math.round(this.#bytes);
  }
  get inodes(): number {
    return Math.round(this.#inodes);
  }
  get depth(): number {
    return this.#levels.length;
  }
  get openHandles(): number {
    return this.#levels.length - this.#firstOpen;
  }

  /** Continues the walk. Returns true at the end of the tree, false when `isSliceOver` returned true. */
  run(isSliceOver: () => boolean): boolean {
    for (;;) {
      const level = this.#levels.at(-1);
      if (!level) return true;
      switch (this.#readLevel(level, isSliceOver)) {
        case 'sliceOver':
          return false;
        case 'end':
          this.#pop();
          break;
        case 'descended':
      }
    }
  }

  /** Idempotent. */
  close(): void {
    for (const level of this.#levels.splice(0)) if (level.fd >= 0) closeDirectoryFd(level.fd);
  }

  #readLevel(level: Level, isSliceOver: () => boolean): 'sliceOver' | 'descended' | 'end' {
    try {
      seek(level.fd, level.position);
      for (let isEmpty = false; !isEmpty;) {
        isEmpty = true;
        for (const { name, position } of readEntries(level.fd)) {
          isEmpty = false;
          const descended = this.#visit(level, name, position);
          this.#entries += 1;
          if (this.#entries % entriesPerCheck === 0 && isSliceOver()) {
            if (!descended) level.position = position();
            return 'sliceOver';
          }
          if (descended) return 'descended';
        }
      }
    } catch (err) {
      this.#noteFailure(err);
    }
    return 'end';
  }

  /** Counts an entry. Returns whether it is a directory that is open now. */
  #visit(level: Level, name: Uint8Array, position: () => bigint): boolean {
    const facts = this.#facts;
    try {
      if (!statChild(level.fd, name, facts)) return false;
    } catch (err) {
      this.#noteFailure(err);
      return false;
    }
    if (facts.device !== this.#root.device || facts.mount !== this.#root.mount) return false;
    this.#count(facts);
    if (!facts.isDirectory) return false;
    if (this.#levels.length >= this.#limits.maxDepth) {
      this.isIncomplete = true;
      return false;
    }
    level.position = position();
    return this.#descend(level.fd, name);
  }

  #descend(parent: number, name: Uint8Array): boolean {
    let fd: number;
    try {
      fd = openChild(parent, name);
    } catch (err) {
      this.#noteFailure(err);
      return false;
    }
    // Since `statChild`, the name may have become that of another directory or of a mount point.
    if (!statDirectory(fd, this.#facts) || this.#facts.device !== this.#root.device || this.#facts.mount !== this.#root.mount) {
      closeDirectoryFd(fd);
      return false;
    }
    this.#push(fd);
    return true;
  }

  #push(fd: number): void {
    this.#levels.push({ fd, inode: this.#facts.inode, device: this.#facts.device, position: 0n });
    if (this.openHandles <= this.#limits.maxHandles) return;
    const upper = this.#levels[this.#firstOpen]!;
    closeDirectoryFd(upper.fd);
    upper.fd = -1;
    this.#firstOpen += 1;
  }

  /** Leaves a directory that was read to its end. */
  #pop(): void {
    const child = this.#levels.pop()!;
    const parent = this.#levels.at(-1);
    try {
      if (parent && parent.fd < 0) this.#reopen(parent, child.fd);
    } catch {
      // The directory was moved elsewhere, with what is below it: the rest of the tree can't be found from here.
      this.isIncomplete = true;
      this.#levels.length = 0;
      this.#firstOpen = 0;
    } finally {
      closeDirectoryFd(child.fd);
    }
  }

  #reopen(level: Level, child: number): void {
    const fd = openParent(child);
    statDirectory(fd, this.#facts);
    if (this.#facts.inode !== level.inode || this.#facts.device !== level.device) {
      closeDirectoryFd(fd);
      throw new Error('the directory was moved');
    }
    level.fd = fd;
    this.#firstOpen -= 1;
  }

  /** Marks the result as incomplete, unless the entry was removed or replaced meanwhile. */
  #noteFailure(err: unknown): void {
    if (!removed.has((err as NodeJS.ErrnoException).code ?? '')) this.isIncomplete = true;
  }

  #count({ blocks, links, inode, isDirectory }: FileFacts): void {
    const share = isDirectory ? 1 : this.#links.share(inode, links);
    this.#bytes += blocks * blockBytes * share;
    this.#inodes += share;
  }
}
