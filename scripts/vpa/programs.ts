/** The three programs of the VerticalPodAutoscaler, built from their Go module (version in test/vpa/go.mod) into the user's cache folder, and its manifests. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../lab/cache/user-cache.ts';
import { buildWithGo, goArguments, requiredVersion } from '../../lab/programs/go-build.ts';
import { ensureGo } from '../../lab/programs/go-toolchain.ts';

const module = join(import.meta.dirname, '../../test/vpa');
const upstream = 'k8s.io/autoscaler/vertical-pod-autoscaler';
const programs = {
  recommender: `${upstream}/pkg/recommender`,
  updater: `${upstream}/pkg/updater`,
  'admission-controller': `${upstream}/pkg/admission-controller`,
} as const;
/** Its kinds; its service accounts with their roles. */
const manifests = ['vpa-v1-crd-gen.yaml', 'vpa-rbac.yaml'] as const;
/** Of one call of Go, which may fetch the module. */
const fetchLimitMs = 5 * 60_000;

export type VpaProgram = keyof typeof programs;
export interface VpaFiles {
  readonly binaries: Readonly<Record<VpaProgram, string>>;
  /** In the order in which they are applied. */
  readonly manifests: readonly string[];
}

/** Throws when Go or a module cannot be fetched, and when the build fails. */
export async function ensureVpa(progress: (what: string) => void): Promise<VpaFiles> {
  const variables = {};
  const key = cacheKey({
    texts: [process.arch, ...Object.values(programs), ...manifests, ...goArguments({ variables })],
    files: ['go.mod', 'go.sum'].map((file) => join(module, file)),
  });
  const folder = cacheEntry(`vpa-${requiredVersion(module, upstream)}`, key);
  const missing = Object.entries(programs).filter(([name]) => !existsSync(join(folder, name)));
  if (missing.length > 0) {
    await buildWithGo({ module, programs: Object.fromEntries(missing), folder, variables, progress });
    pruneCache();
  }
  if (manifests.some((name) => !existsSync(join(folder, name)))) await copyManifests(folder, progress);
  return {
    binaries: Object.fromEntries(Object.keys(programs).map((name) => [name, join(folder, name)])) as VpaFiles['binaries'],
    manifests: manifests.map((name) => join(folder, name)),
  };
}

async function copyManifests(folder: string, progress: (what: string) => void): Promise<void> {
  const { command, environment } = await ensureGo(module, progress);
  const downloaded = execFileSync(command, ['mod', 'download', '-json', upstream], {
    cwd: module,
    env: environment,
    encoding: 'utf8',
    timeout: fetchLimitMs,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { Dir } = JSON.parse(downloaded) as { readonly Dir: string };
  for (const name of manifests) copyFileSync(join(Dir, 'deploy', name), join(folder, name));
}
