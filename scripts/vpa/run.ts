/**
 * `npm run test:vpa`: builds what test/vpa needs, then runs it in a network namespace. The first build takes four minutes of one CPU.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ensureBuilt } from '../../lab/kubelet/build.ts';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { ensureControlPlane } from '../../lab/programs/control-plane.ts';
import { ensureMetricsServer } from '../../lab/programs/metrics-server.ts';
import { NetworkNamespace } from '../../test/runner/network-namespace.ts';
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
    const [command, args] = namespace.wrap(process.execPath, ['--test', '--test-reporter=spec', ...process.argv.slice(2), file]);
    const child = spawn(command, args, { stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
    const [code] = (await once(child, 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    namespace.delete();
  }
} catch (err) {
  console.error(err instanceof Error ? err.message : err);
  process.exitCode = 1;
}
