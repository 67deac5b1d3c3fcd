/** Builds upstream's suite, the programs of its images, and ginkgo from Go modules (versions in test/conformance/go.mod) into a cache folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { kubernetesVersion } from '../host/control-plane-binaries.ts';
import { buildWithGo } from '../host/go-build.ts';

const root = join(import.meta.dirname, '../..');
const cache = join(root, `.cache/conformance-${kubernetesVersion}`);

const programs = {
  'e2e.test': '.',
  ginkgo: 'github.com/onsi/ginkgo/v2/ginkgo',
  agnhost: 'k8s.io/kubernetes/test/images/agnhost',
  nonewprivs: 'k8s.io/kubernetes/test/images/nonewprivs',
} as const;
export type ConformanceBinaries = Readonly<Record<keyof typeof programs, string>>;

/** Returns the path of each program, built if necessary. */
export async function ensureConformanceBinaries(progress: (what: string) => void): Promise<ConformanceBinaries> {
  const paths: [string, string][] = [];
  for (const [name, target] of Object.entries(programs)) {
    const path = join(cache, name);
    const args = target === '.' ? ['test', '-c'] : ['build', '-buildvcs=false'];
    const module = join(root, 'test/conformance');
    if (!existsSync(path)) await buildWithGo({ module, name, path, args, target, version: kubernetesVersion, progress });
    paths.push([name, path]);
  }
  return Object.fromEntries(paths) as ConformanceBinaries;
}
