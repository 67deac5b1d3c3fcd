/**
 * Blocking file system calls for small files and folders on the node's own disk and tmpfs: a pod's folders, its hosts file, the files of a
 * token. A new pod needs about seventy such calls of 10 µs each. A round trip to libuv's threads for each would cost ten times as much CPU,
 * and would wake up a thread that hundreds of pods share. Calls that may hang or take long (paths outside of the kubelet's folders, removal
 * of trees) belong into the helper process or use node:fs/promises.
 *
 * The functions have the names and the promises of node:fs/promises, so that an import decides which kind of call a file makes.
 */
import * as fs from 'node:fs';

export async function access(path: string): Promise<void> {
  fs.accessSync(path);
}
export async function chmod(path: string, mode: number): Promise<void> {
  fs.chmodSync(path, mode);
}
export async function chown(path: string, user: number, group: number): Promise<void> {
  fs.chownSync(path, user, group);
}
export async function lchown(path: string, user: number, group: number): Promise<void> {
  fs.lchownSync(path, user, group);
}
export async function lstat(path: string): Promise<fs.Stats> {
  return fs.lstatSync(path);
}
export async function mkdir(path: string, options: { readonly recursive: true; readonly mode?: number }): Promise<void> {
  fs.mkdirSync(path, options);
}
export async function mkdtemp(prefix: string): Promise<string> {
  return fs.mkdtempSync(prefix);
}
/** Returns names; with `recursive`, also those in the folders below. */
export async function readdir(path: string, options: { readonly recursive?: true } = {}): Promise<string[]> {
  return fs.readdirSync(path, { ...options, encoding: 'utf8' });
}
export function readFile(path: string): Promise<Buffer>;
export function readFile(path: string, encoding: 'utf8'): Promise<string>;
export async function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  return encoding === undefined ? fs.readFileSync(path) : fs.readFileSync(path, encoding);
}
/** Returns the first bytes of a file that may grow meanwhile. A regular file returns less than it was asked for only at its end. */
export async function readStart(path: string, maxBytes: number): Promise<Buffer> {
  const file = fs.openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(maxBytes);
    return buffer.subarray(0, fs.readSync(file, buffer, 0, maxBytes, 0));
  } finally {
    fs.closeSync(file);
  }
}
export async function readlink(path: string): Promise<string> {
  return fs.readlinkSync(path);
}
export async function realpath(path: string): Promise<string> {
  return fs.realpathSync.native(path);
}
export async function rename(from: string, to: string): Promise<void> {
  fs.renameSync(from, to);
}
export async function rm(path: string, options: { readonly force: true }): Promise<void> {
  fs.rmSync(path, options);
}
export async function rmdir(path: string): Promise<void> {
  fs.rmdirSync(path);
}
export async function stat(path: string): Promise<fs.Stats> {
  return fs.statSync(path);
}
export async function statfs(path: string): Promise<fs.StatsFs> {
  return fs.statfsSync(path);
}
export async function symlink(target: string, path: string): Promise<void> {
  fs.symlinkSync(target, path);
}
export async function truncate(path: string, size: number): Promise<void> {
  fs.truncateSync(path, size);
}
export async function writeFile(
  path: string,
  content: string | Uint8Array,
  options?: { readonly mode?: number; readonly flag?: 'r+' },
): Promise<void> {
  fs.writeFileSync(path, content, options);
}
