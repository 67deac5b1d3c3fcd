/** Pins the Go modules of this project to one version of Kubernetes. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ensureGo, type Go } from '../../lab/programs/go-toolchain.ts';

const project = join(import.meta.dirname, '../..');
export const valuesModule = join(project, 'scripts/upstream/values');
export const clusterModule = join(project, 'test/cluster');
/** Each requires k8s.io/kubernetes, and replaces all of its staging modules, which are published under versions of their own. */
export const kubernetesModules: readonly string[] = [clusterModule, join(project, 'test/conformance'), valuesModule];
const etcdServer = 'go.etcd.io/etcd/server/v3';
/** Of one call of Go, which may fetch all modules of a version. */
const limitMs = 10 * 60_000;
const etcdClient = 'go.etcd.io/etcd/client/v3';
const coreDNS = 'github.com/coredns/coredns';

interface GoMod {
  readonly Require?: readonly { readonly Path: string; readonly Version: string }[];
  readonly Replace?: readonly { readonly Old: { readonly Path: string }; readonly New: { readonly Path: string } }[];
}

/** `v1.37.2` is published as v0.37.2 in staging modules. */
export function stagingVersion(version: string): string {
  return version.replace(/^v1\./, 'v0.');
}

/**
 * Rewrites each go.mod and go.sum. etcd's server gets the version of the client that Kubernetes has, and CoreDNS the one that kubeadm installs.
 * Throws when Go or a module cannot be fetched.
 */
export async function pinKubernetes(version: string, progress: (what: string) => void, modules = kubernetesModules): Promise<void> {
  const go = await ensureGo(valuesModule, progress);
  progress(`fetching Kubernetes ${version}`);
  const downloaded = JSON.parse(run(go, project, ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`])) as {
    readonly GoMod: string;
    readonly Dir: string;
  };
  const upstream = read(go, downloaded.GoMod);
  const staging = (upstream.Replace ?? []).filter(({ New }) => New.Path.startsWith('./staging/')).map(({ Old }) => Old.Path);
  const etcd = upstream.Require?.find(({ Path }) => Path === etcdClient)?.Version;
  const dns = coreDNSVersion(readFileSync(join(downloaded.Dir, 'cmd/kubeadm/app/constants/constants.go'), 'utf8'));
  if (staging.length === 0 || etcd === undefined || dns === undefined)
    throw new Error(`the go.mod of Kubernetes ${version} is not as expected`);
  for (const module of modules) {
    progress(`pinning ${basename(module)}`);
    const { Require = [], Replace = [] } = read(go, join(module, 'go.mod'));
    const edits = [
      `-require=k8s.io/kubernetes@${version}`,
      ...Require.filter(({ Path }) => staging.includes(Path)).map(({ Path }) => `-require=${Path}@${stagingVersion(version)}`),
      ...Require.filter(({ Path }) => Path === etcdServer).map(({ Path }) => `-require=${Path}@${etcd}`),
      ...Require.filter(({ Path }) => Path === coreDNS).map(({ Path }) => `-require=${Path}@${dns}`),
      ...Replace.filter(({ Old }) => !staging.includes(Old.Path)).map(({ Old }) => `-dropreplace=${Old.Path}`),
      ...staging.map((path) => `-replace=${path}=${path}@${stagingVersion(version)}`),
    ];
    run(go, module, ['mod', 'edit', ...edits]);
    tidy(go, module);
    // Kubernetes itself requires v0.0.0 of its staging modules, which tidying writes for one that no version needed before.
    const added = read(go, join(module, 'go.mod')).Require?.filter(({ Version }) => Version === 'v0.0.0') ?? [];
    if (added.length === 0) continue;
    run(go, module, ['mod', 'edit', ...added.map(({ Path }) => `-require=${Path}@${stagingVersion(version)}`)]);
    tidy(go, module);
  }
}

/** With -e, as a test of a dependency of metrics-server imports a package that two modules have. Nothing needs that test. */
function tidy({ command, environment }: Go, module: string): void {
  const { status, stderr, error } = spawnSync(command, ['mod', 'tidy', '-e'], {
    cwd: module,
    env: environment,
    encoding: 'utf8',
    timeout: limitMs,
  });
  if (error) throw error;
  const [problem] = findTidyProblems(stderr);
  if (status !== 0 || problem !== undefined) throw new Error(`go mod tidy in ${module}: ${problem ?? stderr}`);
}

/** Returns the errors of `go mod tidy -e`, which ends well after any of them and leaves out what it could not read. Ambiguous imports are none. */
export function findTidyProblems(stderr: string): string[] {
  return stderr
    .split(/^(?=go: )/m)
    .map((message) => message.trim())
    .filter((message) => message !== '' && !/^go: (?:downloading|finding|found|added|removed|upgraded|downgraded) /.test(message))
    .filter((message) => !message.includes(': ambiguous import: '));
}

/** From kubeadm's source. */
export function coreDNSVersion(constants: string): string | undefined {
  return /\bCoreDNSVersion = "(v[\w.+-]+)"/.exec(constants)?.[1];
}

function read(go: Go, goMod: string): GoMod {
  return JSON.parse(run(go, project, ['mod', 'edit', '-json', goMod])) as GoMod;
}

function run({ command, environment }: Go, cwd: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd, env: environment, encoding: 'utf8', timeout: limitMs, stdio: ['ignore', 'pipe', 'inherit'] });
}
