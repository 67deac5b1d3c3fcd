/** A separate containerd for benchmarks: version 1.7 from Debian's next release, because older ones lack the CRI event stream. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureContainerd } from '../../lab/containerd/installations/installations.ts';
import { busyboxImage } from '../../lab/containerd/local-images.ts';
import { PrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import { CriDriver } from '../driver/cri-driver.ts';
import type { BenchContext } from './benchmark.ts';
import { ensureKubelet } from '../../lab/kubelet/kubelet-process.ts';

const root = join(import.meta.dirname, '../..');
const benchImage = busyboxImage;
/** Runs until it is stopped, and exits at SIGTERM. */
const benchCommand: readonly string[] = ['/bin/sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait'];

/** Starts containerd with a bare driver. Compiles the kubelet first if necessary. Both are removed at the end of the benchmark. */
export async function startContainerd({
  progress,
  onEnd,
}: BenchContext): Promise<{ readonly containerd: PrivateContainerd; readonly driver: CriDriver }> {
  ensureKubelet();
  progress('starting a separate containerd …');
  execFileSync('sh', [join(root, 'lab/host/packages.sh')], { stdio: 'ignore' });
  const installation = ensureContainerd('1.7');
  const folder = mkdtempSync(join(tmpdir(), 'kb-'));
  const containerd = await PrivateContainerd.start({ folder, installation, network: '10.93' });
  onEnd(() => containerd.destroy());
  const driver = new CriDriver(containerd.endpoint, benchImage, benchCommand);
  onEnd(() => driver.close());
  return { containerd, driver };
}

/** The bare driver's pod as a PodSpec. */
export const benchPodSpec = {
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 5,
  containers: [{ name: 'app', image: benchImage, command: benchCommand, imagePullPolicy: 'IfNotPresent' }],
};
