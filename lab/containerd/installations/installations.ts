/**
 * Versions of containerd that the host does not have, each in an entry of the user's cache folder.
 *
 *   node lab/containerd/installations/installations.ts [1.7] [2.1] [2.3]   fetches or builds the given ones, or all
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../cache/user-cache.ts';
import { assertMayBuild } from '../../programs/lanes.ts';
import { containerdBuildKey } from './build.ts';

/** Only containerd-2.3.ts has a value of it. */
export type Containerd23 = '2.3' & { readonly importedFrom: 'containerd-2.3.ts' };
/** 1.6 is the host's, of Debian 12. */
export type ContainerdVersion = '1.6' | '1.7' | '2.1' | Containerd23;

const script = join(import.meta.dirname, 'newer-containerd.sh');

/**
 * Returns the folder that has usr/bin/containerd, after it was fetched or built if necessary. Empty for the host's. Throws in a lane of the
 * tests when it is missing. Errors contain stderr.
 */
export function ensureContainerd(version: ContainerdVersion, stdout: 'pipe' | 'inherit' = 'pipe'): string {
  if (version === '1.6') return '';
  const key = cacheKey({ texts: [process.arch, version === '2.3' ? containerdBuildKey() : version], files: [script] });
  const folder = cacheEntry(`containerd-${version}`, key);
  if (!isComplete(folder)) {
    assertMayBuild(`containerd ${version}`, `node lab/containerd/installations/installations.ts ${version}`);
    execFileSync('sh', [script, version, folder], { stdio: ['ignore', stdout, stdout] });
    pruneCache();
  }
  return folder;
}

/** Its files contain the folder's path. */
function isComplete(folder: string): boolean {
  const mark = join(folder, 'unpacked-at');
  return existsSync(mark) && readFileSync(mark, 'utf8').trimEnd() === folder;
}

if (import.meta.main) {
  const known = ['1.7', '2.1', '2.3'];
  const given = process.argv.slice(2);
  try {
    const unknown = given.find((version) => !known.includes(version));
    if (unknown !== undefined) throw new Error(`unknown version of containerd: ${unknown}; known: ${known.join(', ')}`);
    for (const version of given.length > 0 ? given : known) ensureContainerd(version as ContainerdVersion, 'inherit');
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
