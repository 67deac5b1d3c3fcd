/** Creates trees that are deeper than the longest path, using directory handles as a container's `cd` and `mkdir` do. */
import { closeSync, constants, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPath } from '../../src/shared/linux/directory-calls.ts';

/** Creates `depth` nested folders below `root`, with a file in every hundredth one. */
export function makeDeepTree(root: string, depth: number, name = 'deeper'): void {
  mkdirSync(root, { recursive: true });
  let fd = openFolder(root);
  for (let level = 0; level < depth; level += 1) {
    const here = `/proc/self/fd/${fd}`;
    mkdirSync(join(here, name));
    if (level % 100 === 0) writeFileSync(join(here, 'file'), 'x');
    const child = openFolder(join(here, name));
    closeSync(fd);
    fd = child;
  }
  closeSync(fd);
}

function openFolder(path: string): number {
  return openSync(path, openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
