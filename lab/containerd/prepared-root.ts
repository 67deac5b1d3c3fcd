/**
 * Containerd's root folder with the local images, kept in the folder of built images and copied to each new instance: an import costs a fifth of a
 * second of CPU. Each build of containerd has its own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheKey } from '../cache/user-cache.ts';
import { imageCache } from './local-images.ts';

export interface PreparedRoot {
  /** The images are imported anew when one of these files has changed: containerd's binary and the archives. */
  readonly sources: readonly string[];
  /** Starts containerd with this root, imports the images, and ends it. */
  readonly importInto: (root: string) => Promise<void>;
}

/** Copies the prepared root, which is made when missing. Does nothing when the root has files. */
export async function copyPreparedRoot(root: string, { sources, importInto }: PreparedRoot): Promise<void> {
  if (readdirSync(root).length > 0) return;
  const stamps = sources.map((file) => `${file} ${statSync(file).size} ${statSync(file).mtimeMs}`);
  const prepared = join(imageCache, `root-${cacheKey({ texts: stamps })}`);
  if (!existsSync(prepared)) await prepare(prepared, importInto);
  copy(prepared, root);
}

async function prepare(prepared: string, importInto: PreparedRoot['importInto']): Promise<void> {
  const work = mkdtempSync(`${prepared}-`);
  try {
    await importInto(work);
    renameSync(work, prepared);
  } catch (err) {
    // Another process has prepared it meanwhile.
    if (!existsSync(prepared)) throw err;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Keeps owners and modes. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', `${from}/.`, to]);
}
