/** `npm run test:upgrade`: builds what test/upgrade needs, then runs it. */
import { join } from 'node:path';
import { installGuest } from '../../lab/guest/install.ts';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import { ensureControlPlane } from '../../lab/programs/control-plane.ts';
import { ensureKubeadmBinaries } from '../../lab/programs/kubeadm.ts';
import { runTestFile } from '../run-test-file.ts';
import { ensureEarlierPackage } from './earlier-package.ts';

const file = join(import.meta.dirname, '../../test/upgrade/package-upgrade.test.ts');
const progress = (what: string) => console.log(`==> ${what}`);

try {
  installGuest();
  await ensureControlPlane(progress);
  await ensureKubeadmBinaries(progress);
  ensureBuilt();
  ensureEarlierPackage(progress);
  process.exitCode = await runTestFile(file);
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 1;
}
