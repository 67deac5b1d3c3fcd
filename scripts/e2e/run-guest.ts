/**
 * Runs the tests of test/guest, or the given ones, in lanes: each file boots a guest of its own. KUBELET_TEST_LANES sets the number of lanes; default:
 * two, since a guest waits for most of its time. Exits with 1 when a file failed twice, ran no test, or skipped one, and where no guest can run.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build, isBuilt } from '../build.ts';
import { ensureControlPlane, ensureKubeadmBinary } from '../host/control-plane-binaries.ts';
import { installGuest } from '../host/guest/install.ts';
import { runFiles } from './run-files.ts';

const project = join(import.meta.dirname, '../..');
const defaultLanes = 2;
const given = process.argv.slice(2);
/** It has two guests, each with as much to do as any other. */
const kubeadmTest = 'test/guest/kubeadm.test.ts';
const files = (given.length > 0 ? given : globSync('test/guest/**/*.test.ts', { cwd: project })).map((file) =>
  relative(project, resolve(project, file)),
);

async function install(): Promise<boolean> {
  try {
    installGuest();
    execFileSync('sh', [join(project, 'scripts/host/packages.sh')], { stdio: 'inherit' });
    for (const version of ['1.7', '2.1']) {
      const installation = join(project, `.cache/containerd-${version}`);
      execFileSync('sh', [join(project, 'scripts/host/newer-containerd.sh'), version, installation], { stdio: 'inherit' });
    }
    if (!isBuilt()) build();
    // They take minutes once, which the limits of tests do not have. Single files build what they need.
    if (given.length === 0) {
      await ensureControlPlane(console.log);
      await ensureKubeadmBinary(console.log);
    }
    return true;
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    console.error(`${files.length} files of guest tests did not run. KUBELET_TEST_SKIP=guest leaves them out of npm test`);
    return false;
  }
}

const openLane = () => ({
  wrap: (command: string, args: readonly string[]): [string, string[]] => [command, [...args]],
  env: process.env,
  close: () => {},
});
const lanes = Math.max(1, Math.min(Number(process.env.KUBELET_TEST_LANES ?? defaultLanes) || 1, files.length));
process.exitCode = (await install()) && (await runFiles({ files, alone: [kubeadmTest], lanes, openLane, title: 'guest tests' })) ? 0 : 1;
