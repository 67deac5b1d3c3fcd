/**
 * Builds containerd and its shim (version in test/containerd/go.mod) into a folder, for newer-containerd.sh. Programs that exist are kept.
 *
 *   node scripts/host/build-containerd.ts FOLDER
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildWithGo } from './go-build.ts';

const containerd = 'github.com/containerd/containerd/v2';
const module = join(import.meta.dirname, '../../test/containerd');
/** What needs C libraries, or file systems that no test uses. */
const tags = ['no_btrfs', 'no_devmapper', 'no_zfs', 'no_erofs'];

const [folder = '.'] = process.argv.slice(2);
const [, version = ''] =
  new RegExp(`^\\s*(?:require )?${containerd} (v\\S+)$`, 'm').exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? [];
try {
  for (const name of ['containerd', 'containerd-shim-runc-v2']) {
    const path = resolve(folder, name);
    if (existsSync(path)) continue;
    await buildWithGo({
      module,
      name,
      path,
      args: ['build', '-buildvcs=false', '-tags', tags.join()],
      target: `${containerd}/cmd/${name}`,
      version,
      versionVariable: `${containerd}/version.Version`,
      progress: (what) => console.log(`==> ${what}`),
    });
  }
} catch (err) {
  console.error(err instanceof Error ? err.message : String(err));
  process.exitCode = 1;
}
