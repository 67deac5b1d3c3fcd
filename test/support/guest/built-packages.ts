/** The packages of the bundle in dist/. They are built once for all tests and runs: the compression takes 12 CPU seconds. */
import { existsSync, globSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../../lab/cache/user-cache.ts';
import { buildPackages, packagePaths, readSourceDate, type Packages } from '../../../scripts/package/package.ts';

const project = join(import.meta.dirname, '../../..');
/** The lock file determines what is in node_modules. */
const sources = ['package.json', 'package-lock.json', 'LICENSE', 'bin/kubelet', 'dist/src/**/*.js', 'scripts/package/**/*'];

export function builtPackages(): Packages {
  const found = globSync(sources, { cwd: project }).filter((file) => statSync(join(project, file)).isFile());
  const files = found.toSorted();
  const key = cacheKey({ texts: [String(readSourceDate()), ...files], files: files.map((file) => join(project, file)) });
  const entry = cacheEntry('packages', key);
  const folder = join(entry, 'built');
  if (existsSync(folder)) return packagePaths(folder);
  const part = mkdtempSync(join(entry, 'part-'));
  try {
    buildPackages(join(part, 'built'));
    renameSync(join(part, 'built'), folder);
    pruneCache();
  } catch (err) {
    // Another process may have built them meanwhile.
    if (!existsSync(folder)) throw err;
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return packagePaths(folder);
}
