/**
 * Provides a Go toolchain for the programs of a cluster and for containerd 2.3: the host's if it is new enough, else the module
 * golang.org/toolchain from a Go module proxy, which is fetched once and unpacked into the user's cache folder, beside its build caches.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, globSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey } from '../cache/user-cache.ts';
import { download } from './download.ts';
import { defaultGoProxy, parseGoProxies, readGoSetting } from './go-proxy.ts';

/** A Go command and its environment. */
export interface Go {
  readonly command: string;
  readonly environment: NodeJS.ProcessEnv;
}

interface ToolchainZip {
  readonly goArch: string;
  readonly sha256: string;
}

/** The oldest version that test/cluster/go.mod and test/containerd/go.mod accept. */
const oldestMinor = 26;
const fetchedVersion = '1.26.8';
/**
 * The SHA-256 of each zip. The checksum database has `h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=` (amd64) and
 * `h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=` (arm64) for them. For a new version, run
 * `go mod download golang.org/toolchain@v0.0.1-go<version>.linux-<arch>`, which verifies the zip against that database, and hash the file in
 * GOMODCACHE/cache/download.
 */
const zips: Partial<Record<NodeJS.Architecture, ToolchainZip>> = {
  x64: { goArch: 'amd64', sha256: '30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7' },
  arm64: { goArch: 'arm64', sha256: '02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99' },
};

/** Time limit for a host's Go that fetches a newer toolchain itself. */
const ownFetchMs = 5 * 60_000;

/**
 * Returns a Go that can build the module, and fetches one if necessary. Throws with every tried source when none is available.
 * @param progress called for each long step
 */
export async function ensureGo(module: string, progress: (what: string) => void): Promise<Go> {
  if (hostGoBuilds(module)) return { command: 'go', environment: process.env };
  const zip = zips[process.arch];
  if (zip === undefined) throw new Error(`there is no Go 1.${oldestMinor} here, and none to fetch for ${process.arch}: install it`);
  const folder = cacheEntry(`go-${fetchedVersion}`, cacheKey({ texts: [zip.sha256] }));
  const toolchain = join(folder, 'go');
  if (!existsSync(toolchain)) await fetchGo(zip, folder, progress);
  return {
    command: join(toolchain, 'bin/go'),
    environment: {
      GOPATH: join(folder, 'path'),
      GOCACHE: join(folder, 'build'),
      ...process.env,
      // Overrides the settings of another Go on the host.
      GOROOT: toolchain,
      GOTOOLCHAIN: 'local',
      // Go makes the folders of modules read-only, and only root could remove the entry.
      GOFLAGS: ['-modcacherw', process.env.GOFLAGS].join(' ').trim(),
    },
  };
}

/** Go 1.21 and later may fetch a newer toolchain themselves; the newer one's version is returned then. */
function hostGoBuilds(module: string): boolean {
  try {
    const version = execFileSync('go', ['env', 'GOVERSION'], {
      cwd: module,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: ownFetchMs,
    });
    const [, minor] = /^go1\.(\d+)/.exec(version) ?? [];
    // A Go built from source has no release version.
    return minor === undefined || Number(minor) >= oldestMinor;
  } catch {
    return false;
  }
}

/** Puts it into `go` of the folder. */
async function fetchGo({ goArch, sha256 }: ToolchainZip, folder: string, progress: (what: string) => void): Promise<void> {
  const version = `v0.0.1-go${fetchedVersion}.linux-${goArch}`;
  progress(`fetching Go ${fetchedVersion} into ${folder}: there is no Go 1.${oldestMinor} or later on this host`);
  // In the folder of the target, so that the rename is atomic.
  const work = mkdtempSync(join(folder, '.part-'));
  try {
    execFileSync('sh', [join(import.meta.dirname, '../host/packages.sh'), '--for-go'], { stdio: 'inherit' });
    const zip = join(work, 'toolchain.zip');
    const proxies = parseGoProxies(readGoSetting('GOPROXY') ?? defaultGoProxy);
    const sources = proxies.map((proxy) => ({ ...proxy, url: `${proxy.url}/golang.org/toolchain/@v/${version}.zip` }));
    await download({ sources, sha256, path: zip, progress });
    progress('unpacking it');
    execFileSync('unzip', ['-q', '-d', work, zip], { stdio: ['ignore', 'inherit', 'inherit'] });
    const unpacked = join(work, `golang.org/toolchain@${version}`);
    completeToolchain(unpacked);
    moveTo(unpacked, join(folder, 'go'));
  } catch (err) {
    throw new Error(
      `Go ${fetchedVersion} could not be fetched: ${err instanceof Error ? err.message : String(err)}\n` +
        `Install Go 1.${oldestMinor} or later, or name a module proxy that has golang.org/toolchain ${version} in GOPROXY`,
      { cause: err },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Sets file modes and renames `_go.mod` files, which a module zip can not contain. The go command does the same after fetching one. */
function completeToolchain(unpacked: string): void {
  for (const program of globSync(['bin/*', 'pkg/tool/*/*'], { cwd: unpacked })) chmodSync(join(unpacked, program), 0o755);
  for (const file of globSync('**/_go.mod', { cwd: unpacked })) {
    copyFileSync(join(unpacked, file), join(unpacked, file, '../go.mod'));
  }
  execFileSync(join(unpacked, 'bin/go'), ['version'], { env: { ...process.env, GOROOT: unpacked, GOTOOLCHAIN: 'local' }, stdio: 'ignore' });
}

function moveTo(unpacked: string, target: string): void {
  try {
    renameSync(unpacked, target);
  } catch (err) {
    // A concurrent run has moved the same toolchain there.
    if ((err as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw err;
  }
}
