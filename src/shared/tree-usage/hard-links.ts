/**
 * Counts a file with several hard links once, as du does. Remembers at most `maxSeen` such files, so that a tenant can't fill the memory. For further files each of
 * n links counts as 1/n of the file, which gives the same sum if all links are in the tree.
 */
export class HardLinks {
  readonly #seen = new Set<number>();
  readonly #maxSeen: number;

  constructor(maxSeen: number) {
    this.#maxSeen = maxSeen;
  }

  /** The share of the file that counts for this link: 1 for the first, 0 for the others. */
  share(inode: number, links: number): number {
    if (links <= 1) return 1;
    if (this.#seen.has(inode)) return 0;
    if (this.#seen.size >= this.#maxSeen) return 1 / links;
    this.#seen.add(inode);
    return 1;
  }
}
