/**
 * The Debian package of this project's last build for Kubernetes v1.36, from which nodes upgrade. It is built from the
 * repository's history, once.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../lab/cache/user-cache.ts';
import { assertMayBuild } from '../../lab/programs/lanes.ts';

export const earlierVersion = 'v1.36.3';
/** The last whose product is v1.36.3. */
const commit = '6dfea0f004e97300ef34a799e93b6f3a514047b4';

const project = join(import.meta.dirname, '../..');
const deadlineMs = 10 * 60_000;

/**
 * Returns the path of the package, and builds it when it is missing: 15 seconds of one CPU. Throws in a lane of the tests, and when the commit is
 * neither in this clone nor to be had from its origin.
 * @param progress called for each long step
 */
export function ensureEarlierPackage(progress: (what: string) => void): string {
  const entry = cacheEntry(`package-${earlierVersion}`, cacheKey({ texts: [commit, process.arch] }));
  const path = join(entry, `kubelet-ts_${earlierVersion.slice(1)}.deb`);
  if (existsSync(path)) return path;
  assertMayBuild(`the package of ${earlierVersion}`, 'npm run test:upgrade');
  fetchCommit(progress);
  progress(`building the package of ${earlierVersion} from ${commit.slice(0, 8)}`);
  const tree = mkdtempSync(join(entry, '.part-'));
  try {
    execFileSync('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, tree], {
      cwd: project,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    provideModules(tree);
    const date = git('log', '-1', '--format=%ct', commit).trim();
    execFileSync(process.execPath, ['scripts/package/package.ts'], {
      cwd: tree,
      env: { ...process.env, SOURCE_DATE_EPOCH: date },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: deadlineMs,
    });
    const [built] = globSync('dist/packages/*.deb', { cwd: tree });
    if (built === undefined) throw new Error(`${commit} has built no package`);
    renameSync(join(tree, built), path);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
  pruneCache();
  return path;
}

/** A shallow clone does not have the commit. */
function fetchCommit(progress: (what: string) => void): void {
  const exists = () => {
    try {
      git('cat-file', '-e', `${commit}^{commit}`);
      return true;
    } catch {
      return false;
    }
  };
  if (exists()) return;
  progress(`fetching ${commit.slice(0, 8)}`);
  try {
    git('fetch', '--quiet', '--no-tags', '--depth=1', 'origin', commit);
  } catch {
    // The next line says what is missing.
  }
  if (!exists()) {
    throw new Error(
      `the package of ${earlierVersion} is built from commit ${commit}, which this clone does not have. Run: git fetch --unshallow`,
    );
  }
}

/** The tree's own, unless they are those of this checkout. */
function provideModules(tree: string): void {
  const lock = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock(project)) symlinkSync(join(project, 'node_modules'), join(tree, 'node_modules'));
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'], timeout: deadlineMs });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: deadlineMs });
}
