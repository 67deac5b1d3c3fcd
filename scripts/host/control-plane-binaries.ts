/**
 * Builds the programs of a real control plane from Go modules (versions in test/cluster/go.mod) into a cache folder:
 *
 *   node scripts/host/control-plane-binaries.ts                 builds what is missing
 *   node scripts/host/control-plane-binaries.ts --with-kubelet  and the Go kubelet, which benchmarks compare with
 *
 * KUBEBUILDER_ASSETS can name a folder with existing binaries, as envtest installs them. The first build takes about ten minutes on 2 cores
 * and 2 GB of Go's caches; an interrupted build continues where it stopped. go-toolchain.ts provides Go.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildWithGo } from './go-build.ts';

/** The version of all Kubernetes programs. test/cluster/go.mod requires the same. */
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
  kubeadm: 'k8s.io/kubernetes/cmd/kubeadm',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
} as const;
export type Program = keyof typeof packages;
export type ControlPlaneProgram = Exclude<Program, 'kubeadm' | 'kubelet'>;
const controlPlane: readonly ControlPlaneProgram[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

/** The path of each program. */
export type ControlPlaneBinaries = Readonly<Record<ControlPlaneProgram, string>>;

/**
 * Returns each program from KUBEBUILDER_ASSETS, else from the cache, and builds missing ones. Throws when Go is missing and can not be
 * fetched, or when the build fails.
 * @param progress called for each long step
 */
export async function ensureControlPlane(progress: (what: string) => void): Promise<ControlPlaneBinaries> {
  const paths: [ControlPlaneProgram, string][] = [];
  for (const program of controlPlane) paths.push([program, findInAssets(program) ?? (await ensureBuilt(program, progress))]);
  return Object.fromEntries(paths) as ControlPlaneBinaries;
}

/** Returns the path of the Go kubelet of the same version, built if necessary. */
export function ensureGoKubeletBinary(progress: (what: string) => void): Promise<string> {
  return ensureBuilt('kubelet', progress);
}

/** Returns the path of kubeadm of the same version, built if necessary. */
export function ensureKubeadmBinary(progress: (what: string) => void): Promise<string> {
  return ensureBuilt('kubeadm', progress);
}

/** envtest's folder has only etcd, kube-apiserver and kubectl. */
function findInAssets(program: Program): string | undefined {
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

async function ensureBuilt(program: Program, progress: (what: string) => void): Promise<string> {
  const path = join(cache, program);
  if (!existsSync(path)) await build(program, path, progress);
  return path;
}

async function build(program: Program, path: string, progress: (what: string) => void): Promise<void> {
  await buildWithGo({
    module,
    name: program,
    path,
    args: ['build', '-buildvcs=false'],
    target: packages[program],
    version: kubernetesVersion,
    progress,
  });
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'with-kubelet': { type: 'boolean', default: false } } });
  const progress = (what: string) => console.log(`==> ${what}`);
  try {
    await ensureControlPlane(progress);
    if (values['with-kubelet']) await ensureGoKubeletBinary(progress);
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
