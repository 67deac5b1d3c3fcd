/**
 * The user's cache folder: files that take minutes to make and are the same for every checkout. It holds the programs of the control plane,
 * containerd, crun and gVisor, Go, the guest's kernel and disk image, and measured durations of tests. `npm run cache` lists and empties it.
 *
 * An entry is a folder `<name>-<key>`. The key is a checksum of all that determines its content, so two checkouts never need different content
 * in one entry.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, utimesSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Of all entries. One set of entries takes 2 GB; a bound of 8 GiB keeps those of some releases. */
export const maxCacheBytes = 8 * 1024 ** 3;
/** An entry that was used less than this ago may be in use by a run of tests, and is kept. */
const inUseMs = 3 * 3_600_000;

export interface CacheEntry {
  /** `<name>-<key>`. */
  readonly name: string;
  readonly path: string;
  /** On disk, without holes. */
  readonly bytes: number;
  readonly usedAtMs: number;
}

/** `$XDG_CACHE_HOME/kubelet-ts`, by default `~/.cache/kubelet-ts`. Relative values are ignored, as the XDG specification says. */
export function userCacheFolder({ XDG_CACHE_HOME: cache, HOME: home }: NodeJS.ProcessEnv = process.env): string {
  return join(cache && isAbsolute(cache) ? cache : join(home || homedir(), '.cache'), 'kubelet-ts');
}

/**
 * Returns the folder of an entry, which is created when missing, and records its use. The caller fills it atomically. The path has no symbolic link,
 * since guests mount it by its path.
 */
export function cacheEntry(name: string, key: string): string {
  const path = join(userCacheFolder(), `${name}-${key}`);
  mkdirSync(path, { recursive: true });
  const now = new Date();
  utimesSync(path, now, now);
  return realpathSync(path);
}

/** Returns a key for texts and the contents of files. */
export function cacheKey({ texts = [], files = [] }: { readonly texts?: readonly string[]; readonly files?: readonly string[] }): string {
  const hash = createHash('sha256');
  for (const part of [...texts, ...files.map((file) => readFileSync(file))]) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Sorted by name. */
export function cacheEntries(): CacheEntry[] {
  const folder = userCacheFolder();
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      // Another process may have removed it.
      const usedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      return usedAtMs === undefined ? [] : [{ name, path, bytes: bytesOf(path), usedAtMs }];
    });
}

/** Removes the entries that were not used for the longest time, until the others fit the bound. Returns the names of removed ones. */
export function pruneCache(maxBytes = maxCacheBytes): string[] {
  const removed = computeRemovals(cacheEntries(), maxBytes, Date.now());
  for (const { path } of removed) rmSync(path, { recursive: true, force: true });
  return removed.map(({ name }) => name);
}

/** Pure. Entries that may be in use are never removed, even beyond the bound. */
export function computeRemovals(entries: readonly CacheEntry[], maxBytes: number, nowMs: number): CacheEntry[] {
  let excess = entries.reduce((sum, { bytes }) => sum + bytes, 0) - maxBytes;
  const removed: CacheEntry[] = [];
  for (const entry of entries.toSorted((a, b) => a.usedAtMs - b.usedAtMs)) {
    if (excess <= 0 || nowMs - entry.usedAtMs < inUseMs) break;
    removed.push(entry);
    excess -= entry.bytes;
  }
  return removed;
}

/** Removes everything, also what is in use. */
export function emptyCache(): void {
  rmSync(userCacheFolder(), { recursive: true, force: true });
}

/**
 * Another process may fill the entry meanwhile. Files that are gone or not readable count nothing, nor do other file systems, such as /proc of a root
 * that is being built.
 */
function bytesOf(path: string, device?: number): number {
  try {
    const found = lstatSync(path);
    if (device !== undefined && found.dev !== device) return 0;
    // Linux counts blocks of 512 bytes.
    const own = found.blocks * 512;
    return found.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name), found.dev), own) : own;
  } catch {
    return 0;
  }
}
