/**
 * A Go that builds the control plane: the host's own where it is new enough, else one of Go's module proxies has it as a module,
 * golang.org/toolchain, which is fetched once and unpacked into `.cache/go-<version>`, with the caches of what it builds beside it.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { download } from './download.ts';
import { defaultGoProxy, goProxies, goSetting } from './go-proxy.ts';

/** How a Go is called. */
export interface Go {
  readonly command: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** The oldest that takes test/cluster/go.mod. */
const oldestMinor = 26;
const fetchedVersion = '1.26.8';
/**
 * The SHA-256 of each zip, of which the checksum database says `h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=` (amd64) and
 * `h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=` (arm64). `go mod download golang.org/toolchain@v0.0.1-go<version>.linux-<arch>`
 * checks a new one against that database and leaves it in GOMODCACHE/cache/download, to be summed.
 */
const zips: Partial<Record<NodeJS.Architecture, { readonly goArch: string; readonly sha256: string }>> = {
  x64: { goArch: 'amd64', sha256: '30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7' },
  arm64: { goArch: 'arm64', sha256: '02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99' },
};

/** What a Go that fetches a newer one may take for it. */
const ownFetchMs = 5 * 60_000;

const root = join(import.meta.dirname, '../..');
const folder = join(root, `.cache/go-${fetchedVersion}`);

/**
 * A Go that builds the module in that folder, fetched now when there is none. `say` hears of what takes long. Throws where none can be
 * had, with every place that was asked.
 */
export async function ensureGo(module: string, say: (what: string) => void): Promise<Go> {
  if (hostGoBuilds(module)) return { command: 'go', environment: process.env };
  if (!existsSync(join(folder, 'bin/go'))) await fetchGo(say);
  return {
    command: join(folder, 'bin/go'),
    environment: {
      GOPATH: join(folder, 'path'),
      GOCACHE: join(folder, 'build'),
      ...process.env,
      // Those of another Go would lead it astray.
      GOROOT: folder,
      GOTOOLCHAIN: 'local',
    },
  };
}

/** Go 1.21 and later fetch a newer one by themselves where they may: then it is the newer one that answers here. */
function hostGoBuilds(module: string): boolean {
  try {
    const version = execFileSync('go', ['env', 'GOVERSION'], {
      cwd: module,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: ownFetchMs,
    });
    const [, minor] = /^go1\.(\d+)/.exec(version) ?? [];
    // One that was built from Go's sources names no version.
    return minor === undefined || Number(minor) >= oldestMinor;
  } catch {
    return false;
  }
}

async function fetchGo(say: (what: string) => void): Promise<void> {
  const wanted = zips[process.arch];
  if (wanted === undefined) throw new Error(`there is no Go 1.${oldestMinor} here, and none to fetch for ${process.arch}: install it`);
  const version = `v0.0.1-go${fetchedVersion}.linux-${wanted.goArch}`;
  say(`fetching Go ${fetchedVersion} into ${folder}: there is no Go 1.${oldestMinor} or later on this host`);
  mkdirSync(join(root, '.cache'), { recursive: true });
  // Beside its place, so that the rename is whole.
  const work = mkdtempSync(`${folder}.part-`);
  try {
    execFileSync('sh', [join(root, 'scripts/host/packages.sh'), '--for-go'], { stdio: 'inherit' });
    const zip = join(work, 'toolchain.zip');
    const proxies = goProxies(goSetting('GOPROXY') ?? defaultGoProxy);
    const sources = proxies.map((proxy) => ({ ...proxy, url: `${proxy.url}/golang.org/toolchain/@v/${version}.zip` }));
    await download({ sources, sha256: wanted.sha256, path: zip, say });
    say('unpacking it');
    execFileSync('unzip', ['-q', '-d', work, zip], { stdio: ['ignore', 'inherit', 'inherit'] });
    const unpacked = join(work, `golang.org/toolchain@${version}`);
    completeToolchain(unpacked);
    moveTo(unpacked, folder);
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

/** A module's zip has no modes and no go.mod below its root: the go command mends both when it has fetched one, and so do we. */
function completeToolchain(unpacked: string): void {
  for (const program of globSync(['bin/*', 'pkg/tool/*/*'], { cwd: unpacked })) chmodSync(join(unpacked, program), 0o755);
  for (const file of globSync('**/_go.mod', { cwd: unpacked })) {
    copyFileSync(join(unpacked, file), join(unpacked, file, '../go.mod'));
  }
  execFileSync(join(unpacked, 'bin/go'), ['version'], { env: { ...process.env, GOROOT: unpacked, GOTOOLCHAIN: 'local' }, stdio: 'ignore' });
}

function moveTo(unpacked: string, place: string): void {
  try {
    renameSync(unpacked, place);
  } catch (err) {
    // Somebody else was faster, with the same.
    if ((err as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw err;
  }
}
