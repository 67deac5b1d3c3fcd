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

/** The newest source is older than the last build. */
export function isBuilt(): boolean {
  const stamp = join(root, '.cache/build.tsbuildinfo');
  if (!existsSync(stamp) || !existsSync(join(root, 'dist/src'))) return false;
  const builtAtMs = statSync(stamp).mtimeMs;
  return ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', ...globSync('{src,bench}/**/*.ts', { cwd: root })].every(
    (file) => statSync(join(root, file)).mtimeMs < builtAtMs,
  );
}

export function build(): void {
  if (!existsSync(join(root, 'dist/src'))) rmSync(join(root, '.cache/build.tsbuildinfo'), { force: true });
  removeStale();
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
}

if (import.meta.main) build();
