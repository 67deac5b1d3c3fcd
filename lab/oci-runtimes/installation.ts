/**
 * crun and gVisor, in an entry of the user's cache folder: what runs containers for other runtime classes than runc's. A test that starts a node with them
 * imports this, so that the imports of a test file tell that it needs them.
 *
 *   node lab/oci-runtimes/installation.ts   fetches them
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../cache/user-cache.ts';
import { assertMayBuild } from '../programs/lanes.ts';

const script = join(import.meta.dirname, 'fetch.sh');
const debian = join(import.meta.dirname, '../guest/debian.sh');

/**
 * Returns the folder that has usr/bin/crun and usr/bin/runsc, after they were fetched if necessary. Throws in a lane of the tests when they are missing. Errors
 * contain stderr.
 */
export function ensureRuntimes(stdout: 'pipe' | 'inherit' = 'pipe'): string {
  const folder = cacheEntry('runtimes', cacheKey({ texts: [process.arch], files: [script, debian] }));
  const mark = join(folder, 'unpacked-at');
  // crun contains the folder's path.
  if (!existsSync(mark) || readFileSync(mark, 'utf8').trimEnd() !== folder) {
    assertMayBuild('crun and runsc', 'node lab/oci-runtimes/installation.ts');
    execFileSync('sh', [script, folder], { stdio: ['ignore', stdout, stdout] });
    pruneCache();
  }
  return folder;
}

/** The options of a node whose containerd has the handlers `crun` and `runsc`. */
export function otherRuntimes() {
  const handlers = Object.fromEntries(['crun', 'runsc'].map((name) => [name, join(import.meta.dirname, `${name}.sh`)]));
  return { handlers, containerdEnv: { RUNTIMES: ensureRuntimes() } };
}

if (import.meta.main) {
  try {
    ensureRuntimes('inherit');
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
