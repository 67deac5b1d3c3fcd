/**
 * What is mounted where, from the kernel's own table (/proc/self/mountinfo; proc(5)). It is the only proof that a volume is set up, or
 * that a folder may be removed: reading it never touches the mounted filesystem, so a dead NFS server cannot hang it.
 */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { setImmediate } from 'node:timers/promises';

export interface MountInfo {
  readonly id: number;
  readonly parentID: number;
  /** `major:minor` of the filesystem. */
  readonly device: string;
  /** Path in that filesystem of what is mounted: not `/` for a bind mount of a folder. */
  readonly root: string;
  readonly mountPoint: string;
  readonly options: readonly string[];
  readonly fsType: string;
  readonly source: string;
  readonly superOptions: readonly string[];
}

/** Lines that are not what proc(5) says are left out. */
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

/** The kernel writes blank, tab, newline and backslash as three octal digits. */
function unescape(field: string): string {
  return field.includes('\\')
    ? field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    : field;
}

function escape(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/**
 * Mounts at `dir` or below it, in the kernel's order. A node has thousands of mounts and a pod a handful: lines are
 * parsed only when they contain the path.
 */
export function mountsBelow(text: string, dir: string): MountInfo[] {
  const needle = ` ${escape(dir)}`;
  const found: MountInfo[] = [];
  for (let at = text.indexOf(needle); at !== -1;) {
    const start = text.lastIndexOf('\n', at) + 1;
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const mount = parseLine(text.slice(start, end));
    if (mount && isWithin(mount.mountPoint, dir)) found.push(mount);
    at = text.indexOf(needle, end);
  }
  return found;
}

/** `path` is `dir` or below it; by name alone, both absolute and clean. */
export function isWithin(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith('/') ? dir : `${dir}/`);
}

/** The order in which to unmount: what is deeper, or was mounted over another, comes first. */
export function deepestFirst(mounts: readonly MountInfo[]): MountInfo[] {
  const depth = ({ mountPoint }: MountInfo) => mountPoint.split('/').length;
  return mounts
    .map((mount, position) => ({ mount, position }))
    .sort((a, b) => depth(b.mount) - depth(a.mount) || b.position - a.position)
    .map(({ mount }) => mount);
}

const selfMountInfo = '/proc/self/mountinfo';
const maxReads = 5;
/** By path, the read that is due and has not begun. */
const dueReads = new Map<string, Promise<string>>();

/**
 * The table as it is after this was asked. Who asks in the same turn of the thread's loop shares one read: it keeps the thread, so that of
 * many pods that end together more ask the longer it takes, and a node's pods cost a few reads and not some for each.
 */
function readTable(path: string): Promise<string> {
  const due = dueReads.get(path);
  if (due) return due;
  const read = setImmediate().then(() => {
    dueReads.delete(path);
    return readFileSync(path, 'utf8');
  });
  dueReads.set(path, read);
  return read;
}

/**
 * Mounts at `dir` or below it, now. The table is in the kernel's memory: reading it waits for nothing, but a node with a hundred pods has
 * five hundred mounts, which take it five milliseconds: who only wants to know of one place asks the place.
 *
 * Kernels before 5.8 may leave out a mount while others come and go: there, two reads must agree, else it rejects (upstream's ConsistentRead,
 * and its kernelHasMountinfoBug).
 */
export async function readMountsBelow(dir: string, { path = selfMountInfo, kernel = release() } = {}): Promise<MountInfo[]> {
  let before: string | undefined;
  for (let reads = 0; reads < maxReads; reads += 1) {
    const mounts = mountsBelow(await readTable(path), dir);
    const ids = mounts.map(({ id, mountPoint }) => `${id} ${mountPoint}`).join('\n');
    if (ids === before || hasWholeTable(kernel)) return mounts;
    before = ids;
  }
  throw new Error(`mounts below ${dir} keep changing: ${maxReads} reads of ${path} did not agree`);
}

/** `6.1.0-amd64`: from 5.8 on. */
function hasWholeTable(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.', 2).map(Number);
  return major > 5 || (major === 5 && minor >= 8);
}
