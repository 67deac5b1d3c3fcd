/** Builds upstream's suites, the programs of their images, and ginkgo from Go modules (versions in test/conformance/go.mod) into the user's cache folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../../lab/cache/user-cache.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import { buildWithGo, goArguments, kubernetesVariables } from '../../lab/programs/go-build.ts';

const module = import.meta.dirname;
const variables = kubernetesVariables(kubernetesVersion);

/** The first is the test of the module itself. The second brings its own API server. */
const suites = { 'e2e.test': 'conformance', 'e2e_node.test': 'k8s.io/kubernetes/test/e2e_node' } as const;
const programs = {
  ginkgo: 'github.com/onsi/ginkgo/v2/ginkgo',
  agnhost: 'k8s.io/kubernetes/test/images/agnhost',
  nonewprivs: 'k8s.io/kubernetes/test/images/nonewprivs',
} as const;
export type ConformanceBinaries = Readonly<Record<keyof typeof suites | keyof typeof programs, string>>;

/** Returns the path of each program. Builds those that are missing, of the suites only the needed ones: each takes minutes. */
export async function ensureConformanceBinaries(
  needed: ReadonlySet<keyof typeof suites>,
  progress: (what: string) => void,
): Promise<ConformanceBinaries> {
  const key = cacheKey({
    texts: [process.arch, ...goArguments({ variables })],
    files: ['go.mod', 'go.sum', 'e2e_test.go'].map((file) => join(module, file)),
  });
  const folder = cacheEntry(`conformance-${kubernetesVersion}`, key);
  for (const [command, targets] of [['test', suites] as const, ['build', programs] as const]) {
    const isNeeded = (name: string) => !(name in suites) || needed.has(name as keyof typeof suites);
    const missing = Object.entries(targets).filter(([name]) => isNeeded(name) && !existsSync(join(folder, name)));
    if (missing.length === 0) continue;
    await buildWithGo({ module, programs: Object.fromEntries(missing), folder, command, variables, progress });
    pruneCache();
  }
  const paths = Object.keys({ ...suites, ...programs }).map((name) => [name, join(folder, name)]);
  return Object.fromEntries(paths) as ConformanceBinaries;
}
