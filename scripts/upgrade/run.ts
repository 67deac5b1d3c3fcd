/** `npm run test:upgrade`: builds what test/upgrade needs, then runs it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { installGuest } from '../../lab/guest/install.ts';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import { ensureControlPlane } from '../../lab/programs/control-plane.ts';
import { ensureKubeadmBinaries } from '../../lab/programs/kubeadm.ts';
import { ensureEarlierPackage } from './earlier-package.ts';

const file = join(import.meta.dirname, '../../test/upgrade/package-upgrade.test.ts');
const progress = (what: string) => console.log(`==> ${what}`);

try {
  installGuest();
  await ensureControlPlane(progress);
  await ensureKubeadmBinaries(progress);
  ensureBuilt();
  ensureEarlierPackage(progress);
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', ...process.argv.slice(2), file], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 1;
}
