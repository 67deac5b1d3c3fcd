/**
 * The programs of a real control plane, built once from Go's modules (test/cluster/go.mod says which) into a cache folder:
 *
 *   node scripts/host/control-plane-binaries.ts                 builds what is missing
 *   node scripts/host/control-plane-binaries.ts --with-kubelet  and the Go kubelet, the peer to measure against
 *
 * A folder that has the control plane already, as envtest's tools leave one, is named by KUBEBUILDER_ASSETS. The first build takes about
 * ten minutes on 2 cores and 2 GB of Go's caches; a build that was cut short goes on where it was. Go itself comes from go-toolchain.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ensureGo, type Go } from './go-toolchain.ts';

/** Of kube-apiserver and its kin; test/cluster/go.mod requires the same. */
export const kubernetesVersion = 'v1.36.3';

const root = join(import.meta.dirname, '../..');
const module = join(root, 'test/cluster');
const cache = join(root, `.cache/control-plane-${kubernetesVersion}`);

const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
} as const;
export type Program = keyof typeof packages;
export type ControlPlaneProgram = Exclude<Program, 'kubelet'>;
const controlPlane: readonly ControlPlaneProgram[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

/** Where each program is. */
export type ControlPlaneBinaries = Readonly<Record<ControlPlaneProgram, string>>;

/**
 * Each program from KUBEBUILDER_ASSETS where that has it, else from the cache, built now if it is in neither. `say` hears of what takes
 * long. Throws when there is no Go to build with and none to be had, or the build fails.
 */
export async function ensureControlPlane(say: (what: string) => void): Promise<ControlPlaneBinaries> {
  const paths: [ControlPlaneProgram, string][] = [];
  for (const program of controlPlane) paths.push([program, given(program) ?? (await ensureBuilt(program, say))]);
  return Object.fromEntries(paths) as ControlPlaneBinaries;
}

/** The Go kubelet of the same version. */
export function ensurePeerKubelet(say: (what: string) => void): Promise<string> {
  return ensureBuilt('kubelet', say);
}

/** envtest's folder has etcd, kube-apiserver and kubectl; the rest is then built. */
function given(program: Program): string | undefined {
  const folder = process.env.KUBEBUILDER_ASSETS;
  if (!folder) return undefined;
  const path = join(folder, program);
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

async function ensureBuilt(program: Program, say: (what: string) => void): Promise<string> {
  const path = join(cache, program);
  if (!existsSync(path)) await build(program, path, say);
  return path;
}

async function build(program: Program, path: string, say: (what: string) => void): Promise<void> {
  const go = await ensureGo(module, say);
  mkdirSync(cache, { recursive: true });
  const startedMs = performance.now();
  say(`building ${program} with Go, once: minutes, of which the first program takes most`);
  // Two builds at once do each other no harm: each has its own unfinished file, and the rename is whole.
  const unfinished = `${path}.${process.pid}.part`;
  await run(
    go,
    ['build', '-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags(), '-o', unfinished, packages[program]],
    program,
  );
  renameSync(unfinished, path);
  say(`built ${program} in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

/** Without them the server calls itself v0.0.0, and kubectl warns of a version skew. */
function linkerFlags(): string {
  const [major, minor] = kubernetesVersion.slice(1).split('.');
  const variables = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const settings = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  return ['-s', '-w', ...settings].join(' ');
}

/** A module mirror that falters once is asked again: Go keeps what it has built and fetched, so the second run is short. */
async function run({ command, environment }: Go, args: readonly string[], program: Program): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const child = spawn(command, args, { cwd: module, env: { ...environment, CGO_ENABLED: '0' }, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (code === 0) return;
    if (attempt === 3 || signal !== null) throw new Error(`go build of ${program} in ${module} ended with ${signal ?? code}`);
    await sleep(2 ** attempt * 500 * (0.5 + Math.random()));
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'with-kubelet': { type: 'boolean', default: false } } });
  const say = (what: string) => console.log(`==> ${what}`);
  try {
    await ensureControlPlane(say);
    if (values['with-kubelet']) await ensurePeerKubelet(say);
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
