/** Bundles the daemon and the simulated runtime into dist/. They run from there, because type stripping at run time costs 45 MB per process. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, lstatSync, lutimesSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
/** Every build replaces this link last. Its time is the build's start. */
const link = join(root, 'dist/kubelet');

/** Returns false when a source has changed since the last build started. */
export function isBuilt(): boolean {
  const builtAt = lstatSync(link, { throwIfNoEntry: false });
  if (!builtAt) return false;
  return [
    'package-lock.json',
    'rolldown.config.ts',
    'lab/kubelet/build.ts',
    ...globSync('{src,lab/simulated-runtime,scripts/bundle}/**/*.{ts,js}', { cwd: root }),
  ].every((file) => statSync(join(root, file)).mtimeMs < builtAt.mtimeMs);
}

/** Builds if necessary. Processes may call this at once: one of them builds, and the others wait. */
export function ensureBuilt(): void {
  if (!isBuilt()) runLocked('--if-needed');
}

export function build(): void {
  runLocked();
}

/** Runs this file while no other build runs, whose new files it would remove. */
function runLocked(...args: string[]): void {
  const command = [process.execPath, import.meta.filename, '--locked', ...args];
  execFileSync('flock', [import.meta.filename, ...command], { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Overwrites files and removes old ones last, because a running daemon imports some modules later. */
function bundle(): void {
  const startedMs = Date.now();
  // Runs with this Node, not the host's. Drops the list of files on stdout.
  const bundler = join(root, 'node_modules/rolldown/bin/cli.mjs');
  execFileSync(process.execPath, [bundler, '--config'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const file of globSync('dist/**/*.js', { cwd: root })) {
    const path = join(root, file);
    if (statSync(path).mtimeMs < startedMs) rmSync(path);
  }
  linkNode(startedMs);
}

/** `bin/kubelet` starts Node through this link. The link is relative, so that the project's folder can be moved. */
function linkNode(startedMs: number): void {
  const ownNode = 'node_modules/.bin/node';
  const created = `${link}.new`;
  rmSync(created, { force: true });
  symlinkSync(existsSync(join(root, ownNode)) ? join('..', ownNode) : process.execPath, created);
  lutimesSync(created, startedMs / 1000, startedMs / 1000);
  renameSync(created, link);
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  if (!args.includes('--locked')) build();
  else if (!args.includes('--if-needed') || !isBuilt()) bundle();
}
