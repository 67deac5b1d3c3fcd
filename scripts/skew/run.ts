/**
 * Runs end-to-end tests of clusters with the control plane of another version of Kubernetes, which is built in a copy of test/cluster: ten minutes of
 * one CPU, once for each version.
 *
 *   npm run test:skew -- v1.36.3 [FILE...]
 *
 * An older version than the kubelet's is not supported: these files pass with v1.36.3.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../lab/cache/user-cache.ts';
import { controlPlanePrograms } from '../../lab/programs/control-plane.ts';
import { packages } from '../../lab/programs/cluster-programs.ts';
import { buildWithGo, goArguments, kubernetesVariables } from '../../lab/programs/go-build.ts';
import { clusterModule, pinKubernetes } from '../upstream/go-modules.ts';

const project = join(import.meta.dirname, '../..');
/** Nodes, pods, their objects and their logs. */
const defaultFiles = ['node', 'workloads', 'pod-objects', 'kubectl', 'mirror-pods'].map((name) => `test/e2e/cluster/${name}.test.ts`);
const progress = (what: string) => console.log(`==> ${what}`);

/** Returns the folder of the programs. Throws when Go or a module cannot be fetched, and when the build fails. */
async function ensureControlPlaneOf(version: string): Promise<string> {
  const variables = kubernetesVariables(version);
  const texts = [process.arch, version, ...controlPlanePrograms.map((name) => packages[name]), ...goArguments({ variables })];
  const folder = cacheEntry(`programs-${version}`, cacheKey({ texts }));
  const missing = controlPlanePrograms.filter((name) => !existsSync(join(folder, name)));
  if (missing.length === 0) return folder;
  const module = mkdtempSync(join(tmpdir(), 'skew-'));
  try {
    for (const file of ['go.mod', 'go.sum', 'tools.go']) copyFileSync(join(clusterModule, file), join(module, file));
    await pinKubernetes(version, progress, [module]);
    const programs = Object.fromEntries(missing.map((name) => [name, packages[name]]));
    await buildWithGo({ module, programs, folder, variables, progress });
  } finally {
    rmSync(module, { recursive: true, force: true });
  }
  pruneCache();
  return folder;
}

const [version = '', ...files] = process.argv.slice(2);
try {
  if (!/^v1\.\d+\.\d+(-[\w.]+)?$/.test(version))
    throw new Error('usage: npm run test:skew -- VERSION [FILE...]; VERSION is that of the control plane: v1.36.3');
  const env = { ...process.env, KUBEBUILDER_ASSETS: await ensureControlPlaneOf(version) };
  execFileSync(join(env.KUBEBUILDER_ASSETS, 'kube-apiserver'), ['--version'], { stdio: 'inherit' });
  const { status } = spawnSync('sh', ['scripts/test.sh', ...(files.length > 0 ? files : defaultFiles)], {
    cwd: project,
    env,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 1;
}
