/** Bundles the daemon and the simulated runtime into dist/, from where they run (type stripping at run time costs 45 MB a process). */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** Written by each build. */
const built = join(root, 'dist/src/main/cli.js');

/** No source is newer than the last build. */
export function isBuilt(): boolean {
  if (!existsSync(built)) return false;
  const builtAtMs = statSync(built).mtimeMs;
  return [
    'package-lock.json',
    'rolldown.config.ts',
    'scripts/build.ts',
    ...globSync('{src,bench,scripts/bundle}/**/*.{ts,js}', { cwd: root }),
  ].every((file) => statSync(join(root, file)).mtimeMs < builtAtMs);
}

/** In place: a daemon that runs from there still finds what it loads late. */
export function build(): void {
  const startedMs = Date.now();
  // By this Node, whichever the host has. Its list of files goes nowhere, what it complains of to stderr.
  const bundler = join(root, 'node_modules/rolldown/bin/cli.mjs');
  execFileSync(process.execPath, [bundler, '--config'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of globSync('dist/**/*.js', { cwd: root })) {
    const path = join(root, file);
    if (statSync(path).mtimeMs < startedMs) rmSync(path);
  }
  linkNode();
}

/** `bin/kubelet` starts Node under this name. A relative link follows the project to another folder. */
function linkNode(): void {
  const ownNode = 'node_modules/.bin/node';
  const link = join(root, 'dist/kubelet');
  rmSync(link, { force: true });
  symlinkSync(existsSync(join(root, ownNode)) ? join('..', ownNode) : process.execPath, link);
}

if (import.meta.main) build();
