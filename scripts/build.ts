/** Compiles src/ and bench/ to dist/: what the daemon runs (type stripping at run time costs 45 MB a process). */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** A compiled file whose source is gone would still be found by an import. */
function removeStale(): void {
  for (const compiled of globSync('dist/{src,bench}/**/*.js', { cwd: root })) {
    const source = join(root, compiled.replace(/^dist\//, '').replace(/\.js$/, '.ts'));
    if (!existsSync(source)) rmSync(join(root, compiled));
  }
}

/** A source has no compiled file: it was removed, or there never was one. */
function isIncomplete(): boolean {
  return globSync('{src,bench}/**/*.ts', { cwd: root }).some((source) => !existsSync(join(root, 'dist', source.replace(/\.ts$/, '.js'))));
}

/** The newest source is older than the last build. */
export function isBuilt(): boolean {
  const stamp = join(root, '.cache/build.tsbuildinfo');
  if (!existsSync(stamp) || isIncomplete()) return false;
  const builtAtMs = statSync(stamp).mtimeMs;
  return ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', ...globSync('{src,bench}/**/*.ts', { cwd: root })].every(
    (file) => statSync(join(root, file)).mtimeMs < builtAtMs,
  );
}

export function build(): void {
  // The compiler believes its notes of what it has written.
  if (isIncomplete()) rmSync(join(root, '.cache/build.tsbuildinfo'), { force: true });
  removeStale();
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
}

if (import.meta.main) build();
