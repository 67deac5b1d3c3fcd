/**
 * Reads the kernel's mount table (/proc/self/mountinfo; proc(5)). The table is the only proof that a volume is mounted, or that a folder may
 * be removed. Reading it never accesses a mounted filesystem, so that a dead NFS server cannot block it.
 */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';

export interface MountInfo {
  readonly id: number;
  readonly parentID: number;
  /** `major:minor` of the filesystem. */
  readonly device: string;
  /** The path of the mounted folder in that filesystem; not `/` for a bind mount of a folder. */
  readonly root: string;
  readonly mountPoint: string;
  readonly options: readonly string[];
  readonly fsType: string;
  readonly source: string;
  readonly superOptions: readonly string[];
}

/** Skips lines that do not have the format of proc(5). */
export function parseMountInfo(text: string): MountInfo[] {
  return text.split('\n').flatMap((line) => parseLine(line) ?? []);
}

function parseLine(line: string): MountInfo | undefined {
  const [fixed = '', filesystem = ''] = line.split(' - ', 2);
  const [id, parentID, device, root, mountPoint, options] = fixed.split(' ');
  const [fsType, source, superOptions] = filesystem.split(' ');
  if (!id || !parentID || !device || !root || !mountPoint || !options || !fsType) return undefined;
  return {
    id: Number(id),
    parentID: Number(parentID),
    device,
    root: unescape(root),
    mountPoint: unescape(mountPoint),
    options: options.split(','),
    fsType,
    source: unescape(source ?? ''),
    superOptions: (superOptions ?? '').split(','),
  };
}

/** The kernel escapes space, tab, newline and backslash as three octal digits. */
function unescape(field: string): string {
  return field.includes('\\')
    ? field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    : field;
}

function escape(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/**
 * Returns the mounts at `dir` or below it, in the kernel's order. Parses only lines that contain the path, since a node has thousands of
 * mounts and a pod a handful.
 */
export function mountsBelow(text: string, dir: string): MountInfo[] {
  const needle = ` ${escape(dir)}`;
  const entries: MountInfo[] = [];
  for (let index = text.indexOf(needle); index !== -1;) {
    const start = text.lastIndexOf('\n', index) + 1;
    const newline = text.indexOf('\n', index);
    const end = newline === -1 ? text.length : newline;
    const mount = parseLine(text.slice(start, end));
    if (mount && isWithin(mount.mountPoint, dir)) entries.push(mount);
    index = text.indexOf(needle, end);
  }
  return entries;
}

/** Returns the mount that a path without symlinks is on: the last one of the deepest mount point. Undefined when the table has none. */
export function mountOf(text: string, path: string): MountInfo | undefined {
  for (let folder = path; ; folder = dirname(folder)) {
    const needle = ` ${escape(folder)} `;
    for (let index = text.lastIndexOf(needle); index !== -1; index = index === 0 ? -1 : text.lastIndexOf(needle, index - 1)) {
      const end = text.indexOf('\n', index);
      const mount = parseLine(text.slice(text.lastIndexOf('\n', index) + 1, end === -1 ? undefined : end));
      if (mount?.mountPoint === folder) return mount;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/** Returns whether `path` is `dir` or below it. Compares names only; both paths must be absolute and normalized. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith('/') ? dir : `${dir}/`);
}

/** Sorts mounts in unmount order: deeper ones first, and a later mount before the one that it hides. */
export function deepestFirst(mounts: readonly MountInfo[]): MountInfo[] {
  const depth = ({ mountPoint }: MountInfo) => mountPoint.split('/').length;
  return mounts
    .map((mount, position) => ({ mount, position }))
    .sort((a, b) => depth(b.mount) - depth(a.mount) || b.position - a.position)
    .map(({ mount }) => mount);
}

const selfMountInfo = '/proc/self/mountinfo';
const maxReads = 5;
/** The scheduled read of each path, until it starts. */
const scheduledReads = new Map<string, Promise<string>>();

/**
 * Returns the table as it is after this call. All calls in one iteration of the event loop share one read. The read blocks the thread, and
 * the calls that arrive meanwhile share the next read. So when many pods end together, they cost a few reads and not several for each pod.
 */
function readTable(path: string): Promise<string> {
  const scheduled = scheduledReads.get(path);
  if (scheduled) return scheduled;
  const reading = setImmediate().then(() => {
    scheduledReads.delete(path);
    return readFileSync(path, 'utf8');
  });
  scheduledReads.set(path, reading);
  return reading;
}

/**
 * Returns the current mounts at `dir` or below it. The read never waits, but on a node with a hundred pods the table has five hundred mounts
 * and takes five milliseconds. To check a single path, compare devices instead (mounted-filesystem-at.ts).
 *
 * Kernels before 5.8 may omit a mount while others are added or removed. There, two reads must agree, or the call rejects (upstream's
 * ConsistentRead, and its kernelHasMountinfoBug).
 */
export async function readMountsBelow(dir: string, { path = selfMountInfo, kernel = release() } = {}): Promise<MountInfo[]> {
  let previousIDs: string | undefined;
  for (let reads = 0; reads < maxReads; reads += 1) {
    const mounts = mountsBelow(await readTable(path), dir);
    const ids = mounts.map(({ id, mountPoint }) => `${id} ${mountPoint}`).join('\n');
    if (ids === previousIDs || hasConsistentTable(kernel)) return mounts;
    previousIDs = ids;
  }
  throw new Error(`mounts below ${dir} keep changing: ${maxReads} reads of ${path} did not agree`);
}

/** True from 5.8 on. */
function hasConsistentTable(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.', 2).map(Number);
  return major > 5 || (major === 5 && minor >= 8);
}
