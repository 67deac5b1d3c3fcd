/**
 * Builds metrics-server (version in test/metrics-server/go.mod) into a cache folder, if it is not there:
 *
 *   node scripts/host/metrics-server-binary.ts
 *
 * After the control plane's programs, with which it shares most packages, the build takes about a minute on 2 cores.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildWithGo } from './go-build.ts';

const root = join(import.meta.dirname, '../..');
const module = join(root, 'test/metrics-server');
const name = 'metrics-server';
const path = `sigs.k8s.io/${name}`;

/** Returns the path of the program. Throws when Go is missing and can not be fetched, or when the build fails. */
export async function ensureMetricsServer(progress: (what: string) => void): Promise<string> {
  const [, version = ''] = new RegExp(`^require ${path} (v\\S+)$`, 'm').exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? [];
  const binary = join(root, `.cache/${name}-${version}/${name}`);
  if (!existsSync(binary)) {
    await buildWithGo({
      module,
      name,
      path: binary,
      args: ['build', '-buildvcs=false'],
      target: `${path}/cmd/${name}`,
      version,
      versionVariable: `${path}/version.gitVersion`,
      progress,
    });
  }
  return binary;
}

if (import.meta.main) {
  try {
    await ensureMetricsServer((what) => console.log(`==> ${what}`));
  } catch (err) {
    console.error(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
}
