/**
 * Small calls on the node's own disk and memory: a pod's folders, its hosts file, the few files of a token. They are made on this thread at
 * once. A new pod needs some seventy of them, each of 10 µs; a trip to libuv's threads for each costs ten times that, in CPU and in wake-ups
 * of a thread that hundreds of pods wait for. What may hang, or may be large (a path of somebody else, a tree to be removed), is not
 * for these: it is the helper's, or goes through node:fs/promises.
 *
 * They have the names and the promises of node:fs/promises, so that a file says by its import which it means.
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
/** Names, of folders below too where asked. */
export async function readdir(path: string, options: { readonly recursive?: true } = {}): Promise<string[]> {
  return fs.readdirSync(path, { ...options, encoding: 'utf8' });
}
export function readFile(path: string): Promise<Buffer>;
export function readFile(path: string, encoding: 'utf8'): Promise<string>;
export async function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  return encoding === undefined ? fs.readFileSync(path) : fs.readFileSync(path, encoding);
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
export async function writeFile(
  path: string,
  content: string | Uint8Array,
  options?: { readonly mode?: number; readonly flag?: 'r+' },
): Promise<void> {
  fs.writeFileSync(path, content, options);
}
