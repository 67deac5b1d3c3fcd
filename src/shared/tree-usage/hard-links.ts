/**
 * Counts a file with several hard links once, as du does. Of a tree with very many of them the further ones count as a share of each link, which gives the same
 * sum if all links are in the tree. So a tenant can't fill the memory with its links.
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
