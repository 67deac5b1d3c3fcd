/** A containerd of the benchmarks' own: 1.7 of Debian's next release, which has the event stream, beside the host's packages. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyboxImage } from '../../scripts/host/local-images.ts';
import { PrivateContainerd } from '../../scripts/host/private-containerd.ts';
import { CriDriver } from '../driver/cri-driver.ts';
import type { BenchContext } from './benchmark.ts';
import { ensureKubelet } from './kubelet-process.ts';

const root = join(import.meta.dirname, '../..');
const benchImage = busyboxImage;
/** A container that runs until it is stopped, and heeds the stop. */
const benchCommand: readonly string[] = ['/bin/sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait'];

/** With the bare driver that is the floor, once the kubelet is compiled that is measured beside it. Both end with the benchmark. */
export async function startContainerd({
  progress: say,
  onEnd: after,
}: BenchContext): Promise<{ readonly containerd: PrivateContainerd; readonly driver: CriDriver }> {
  ensureKubelet();
  const installation = join(root, '.cache/containerd-1.7');
  say('a containerd of its own …');
  execFileSync('sh', [join(root, 'scripts/host/packages.sh')], { stdio: 'ignore' });
  execFileSync('sh', [join(root, 'scripts/host/newer-containerd.sh'), installation], { stdio: 'ignore' });
  const folder = mkdtempSync(join(tmpdir(), 'kb-'));
  const containerd = await PrivateContainerd.start({ folder, installation, network: '10.93', imageCache: join(root, '.cache/images') });
  after(() => containerd.destroy());
  const driver = new CriDriver(containerd.endpoint, benchImage, benchCommand);
  after(() => driver.close());
  return { containerd, driver };
}

/** The same pod as the bare driver's, as a manifest's spec. */
export const benchPodSpec = {
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 5,
  containers: [{ name: 'app', image: benchImage, command: benchCommand, imagePullPolicy: 'IfNotPresent' }],
};
