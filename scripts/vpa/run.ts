/**
 * `npm run test:vpa`: builds what test/vpa needs, then runs it in a network namespace. The first build takes four minutes of one CPU.
 */
import { join } from 'node:path';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { ensureControlPlane } from '../../lab/programs/control-plane.ts';
import { ensureMetricsServer } from '../../lab/programs/metrics-server.ts';
import { NetworkNamespace } from '../../test/runner/network-namespace.ts';
import { runTestFile } from '../run-test-file.ts';
import { ensureVpa } from './programs.ts';

const file = join(import.meta.dirname, '../../test/vpa/vertical-pod-autoscaler.test.ts');
const progress = (what: string) => console.log(`==> ${what}`);

try {
  // The network namespace has no way to the mirrors.
  await ensureControlPlane(progress);
  await ensureMetricsServer(progress);
  await ensureVpa(progress);
  ensureContainerd('1.7', 'inherit');
  ensureBuilt();
  const namespace = NetworkNamespace.create(0);
  try {
    process.exitCode = await runTestFile(file, (command, args) => namespace.wrap(command, args));
  } finally {
    namespace.delete();
  }
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 1;
}
