/**
 * `npm run package`: builds the bundle, and from it a Debian package and a container image for this machine's architecture in dist/packages.
 * Needs dpkg-deb, GNU tar, busybox-static, and Node's packages; no network, no Docker. The same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { build } from '../../lab/kubelet/build.ts';
import { buildDeb } from './deb.ts';
import { buildImage } from './image.ts';
import { installTree } from './install-tree.ts';

const project = join(import.meta.dirname, '../..');
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

export interface Packages {
  readonly deb: string;
  readonly image: string;
}

/**
 * Needs a finished build in dist/.
 * @param folder where the results go
 */
export function buildPackages(folder: string): Packages {
  const { version, architecture } = target();
  const sourceDate = readSourceDate();
  process.umask(0o022);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'kubelet-package-'));
  const packages = packagePaths(folder);
  try {
    installTree(join(work, 'deb'));
    buildDeb({ root: join(work, 'deb'), path: packages.deb, version, kubernetesVersion, architecture, sourceDate });
    installTree(join(work, 'image/root'));
    buildImage({ folder: join(work, 'image'), path: packages.image, version, architecture, sourceDate });
    return packages;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Returns the paths that `buildPackages` gives its results in this folder. */
export function packagePaths(folder: string): Packages {
  const { version, architecture } = target();
  const name = join(folder, `kubelet-ts_${version}_${architecture}`);
  return { deb: `${name}.deb`, image: `${name}.oci.tar` };
}

/** The version is that of Kubernetes, so that a later release is an upgrade for the package manager, and the project's own. */
function target(): { readonly version: string; readonly architecture: string } {
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`there is no Node for ${process.arch}`);
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string };
  return { version: `${kubernetesVersion.slice(1)}-${version}`, architecture };
}

/** SOURCE_DATE_EPOCH, else the time of the last commit. */
export function readSourceDate(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) return Number(given);
  try {
    return Number(
      execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    throw new Error('the sources have no commit: name their date in SOURCE_DATE_EPOCH, in seconds since 1970');
  }
}

if (import.meta.main) {
  try {
    build();
    for (const path of Object.values(buildPackages(join(project, 'dist/packages')))) {
      console.log(`${relative(project, path)}: ${(statSync(path).size / 2 ** 20).toFixed(1)} MiB`);
    }
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exitCode = 1;
  }
}
