/**
 * Removes a tree in time slices. A tree of millions of files takes minutes. With slices, a missed deadline means that the filesystem hangs,
 * and not that the tree is large.
 */
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { pooledCalls } from '../shared/linux/directory-calls.ts';
import { removeTree } from '../shared/linux/remove-tree.ts';

/** Well below the deadline of a request (30 s), since the last system call of a slice may take long on a busy disk. */
const sliceMs = 5000;

export async function removeTreeSlice({ path }: HelperOperations['removeTree']['request']): Promise<{ removed: boolean }> {
  const signal = AbortSignal.timeout(sliceMs);
  try {
    await removeTree(path, { calls: pooledCalls, signal });
    return { removed: true };
  } catch (err) {
    if (err === signal.reason) return { removed: false };
    throw err;
  }
}
