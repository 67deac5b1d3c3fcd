/**
 * Builds containerd and its shim (version in test/containerd/go.mod) into a folder, for newer-containerd.sh.
 *
 *   node lab/containerd/installations/build.ts FOLDER
 */
import { join, resolve } from 'node:path';
import { cacheKey } from '../../cache/user-cache.ts';
import { buildWithGo, goArguments, requiredVersion } from '../../programs/go-build.ts';

const containerd = 'github.com/containerd/containerd/v2';
const module = join(import.meta.dirname, '../../../test/containerd');
const programs = Object.fromEntries(['containerd', 'containerd-shim-runc-v2'].map((name) => [name, `${containerd}/cmd/${name}`]));
/** What needs C libraries, or file systems that no test uses. */
const tags = ['no_btrfs', 'no_devmapper', 'no_zfs', 'no_erofs'];

function variables(): Record<string, string> {
  return { [`${containerd}/version.Version`]: requiredVersion(module, containerd) };
}

/** Returns a key for what determines the programs. */
export function containerdBuildKey(): string {
  return cacheKey({ texts: goArguments({ tags, variables: variables() }), files: [join(module, 'go.mod'), join(module, 'go.sum')] });
}

if (import.meta.main) {
  const [folder = '.'] = process.argv.slice(2);
  const progress = (what: string) => console.log(`==> ${what}`);
  try {
    await buildWithGo({ module, programs, folder: resolve(folder), tags, variables: variables(), progress });
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
