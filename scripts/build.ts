/** Bundles the daemon and the simulated runtime into dist/. They run from there, because type stripping at run time costs 45 MB per process. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** Every build writes this file. */
const builtFile = join(root, 'dist/src/main/cli.js');

/** Returns false when a source is newer than the last build. */
export function isBuilt(): boolean {
  if (!existsSync(builtFile)) return false;
  const builtAtMs = statSync(builtFile).mtimeMs;
  return [
    'package-lock.json',
    'rolldown.config.ts',
    'scripts/build.ts',
    ...globSync('{src,bench,scripts/bundle}/**/*.{ts,js}', { cwd: root }),
  ].every((file) => statSync(join(root, file)).mtimeMs < builtAtMs);
}

/** Overwrites files and removes old ones last, because a running daemon imports some modules later. */
export function build(): void {
  const startedMs = Date.now();
  // Runs with this Node, not the host's. Drops the list of files on stdout.
  const bundler = join(root, 'node_modules/rolldown/bin/cli.mjs');
  execFileSync(process.execPath, [bundler, '--config'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of globSync('dist/**/*.js', { cwd: root })) {
    const path = join(root, file);
    if (statSync(path).mtimeMs < startedMs) rmSync(path);
  }
  linkNode();
}

/** `bin/kubelet` starts Node through this link. The link is relative, so that the project's folder can be moved. */
function linkNode(): void {
  const ownNode = 'node_modules/.bin/node';
  const link = join(root, 'dist/kubelet');
  rmSync(link, { force: true });
  symlinkSync(existsSync(join(root, ownNode)) ? join('..', ownNode) : process.execPath, link);
}

if (import.meta.main) build();
