/**
 * Walks a cgroup and everything below it. A privileged container can create cgroups there: thousands, nested so deeply that no path reaches them, with
 * any bytes but `/`, NUL and a line end in their names. So the walk does not recurse, yields to the other pods of the thread, takes names as bytes, and
 * continues from an open folder where a path becomes too long.
 */
import { closeSync, constants, openSync, readdirSync } from 'node:fs';
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Called with paths as byte texts. */
export interface CgroupVisitor {
  /** Before the children. */
  readonly enter?: (path: string) => void;
  /** After the children. */
  readonly leave?: (path: string) => void;
}

interface Frame {
  readonly path: string;
  /** The prefix of the children's paths: `path`, or the path of the open folder `fd`. */
  readonly base: string;
  readonly fd: number | undefined;
  /** The names of the children that are still to be visited. */
  readonly children: string[];
}

/** The kernel's limit is 4096 (PATH_MAX). A path below this length still has room for a child's name of 255 bytes (NAME_MAX). */
const maxPathLength = 3500;
/** These visits take about five milliseconds. */
const visitsPerIteration = 100;

/** A byte text has one character for each byte of a path (latin1). Decoding as UTF-8 would change names that are not valid UTF-8. */
export function toByteText(path: string): string {
  return Buffer.from(path).toString('latin1');
}

export function fromByteText(byteText: string): Buffer {
  return Buffer.from(byteText, 'latin1');
}

/** A folder that does not exist, or disappears, counts as one without children. Rejects with the signal's reason, and with errors of the visitor. */
export async function walkCgroups(root: string, { enter, leave }: CgroupVisitor, signal?: AbortSignal): Promise<void> {
  const frames: Frame[] = [];
  const push = (path: string): void => {
    enter?.(path);
    const fd = path.length > maxPathLength ? tryToOpen(path) : undefined;
    const base = fd === undefined ? path : `/proc/self/fd/${fd}`;
    frames.push({ path, base, fd, children: childNames(base) });
  };
  const pop = (): Frame | undefined => {
    const frame = frames.pop();
    if (frame?.fd !== undefined) closeSync(frame.fd);
    return frame;
  };
  try {
    push(root);
    for (let visits = 1; frames.length > 0; visits += 1) {
      const { base, children } = frames.at(-1)!;
      const child = children.pop();
      if (child === undefined) {
        const left = pop()!;
        leave?.(left.path);
      } else push(`${base}/${child}`);
      if (visits % visitsPerIteration !== 0) continue;
      await nextIteration();
      signal?.throwIfAborted();
    }
  } finally {
    while (frames.length > 0) pop();
  }
}

function tryToOpen(path: string): number | undefined {
  try {
    return openSync(fromByteText(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
}

function childNames(path: string): string[] {
  try {
    const entries = readdirSync(fromByteText(path), { withFileTypes: true, encoding: 'latin1' });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}
