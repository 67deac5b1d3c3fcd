/**
 * The programs of a real cluster, built from one Go module (versions in test/cluster/go.mod) into an entry of the user's cache folder. What needs
 * one of them imports control-plane.ts, go-kubelet.ts, kubeadm.ts or metrics-server.ts, so that the imports of a test file tell what it needs.
 * go-toolchain.ts provides Go.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../cache/user-cache.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { assertMayBuild } from './lanes.ts';
import { buildWithGo, goArguments, kubernetesVariables } from './go-build.ts';

const module = join(import.meta.dirname, '../../test/cluster');

/** In the order in which they are needed first. */
export const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kubeadm: 'k8s.io/kubernetes/cmd/kubeadm',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'metrics-server': 'sigs.k8s.io/metrics-server/cmd/metrics-server',
  'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  coredns: 'cluster/coredns',
} as const;
export type Program = keyof typeof packages;
export const allPrograms = Object.keys(packages) as readonly Program[];

const variables = kubernetesVariables(kubernetesVersion);

function programsFolder(): string {
  const key = cacheKey({
    texts: [process.arch, JSON.stringify(packages), ...goArguments({ variables })],
    files: ['go.mod', 'go.sum', 'coredns/main.go'].map((file) => join(module, file)),
  });
  return cacheEntry(`programs-${kubernetesVersion}`, key);
}

/**
 * Returns the path of each program, in the same folder, and builds missing ones. Throws in a lane of the tests, when Go is missing and can not be
 * fetched, and when the build fails.
 * @param progress called for each long step
 */
export async function ensurePrograms<P extends Program>(
  programs: readonly P[],
  progress: (what: string) => void,
): Promise<Record<P, string>> {
  const folder = programsFolder();
  const missing = programs.filter((program) => !existsSync(join(folder, program)));
  if (missing.length > 0) {
    assertMayBuild(missing.join(', '), 'node lab/programs/build.ts');
    await buildWithGo({
      module,
      programs: Object.fromEntries(missing.map((program) => [program, packages[program]])),
      folder,
      variables,
      progress,
    });
    pruneCache();
  }
  return Object.fromEntries(programs.map((program) => [program, join(folder, program)])) as Record<P, string>;
}

/** True when all of them are built. */
export function arePrograms(programs: readonly Program[]): boolean {
  const folder = programsFolder();
  return programs.every((program) => existsSync(join(folder, program)));
}
