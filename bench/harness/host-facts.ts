/** The machine and the versions of a measurement. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';
import type { HostFacts } from './benchmark.ts';

export function hostFacts(root: string): HostFacts {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    os: osName(),
    node: process.version,
    kubelet: commit(root),
    kubernetes: kubernetesVersion,
    loadBefore: Math.round(loadavg()[0]! * 100) / 100,
  };
}

function osName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

/** Returns the commit, marked when the working tree has uncommitted changes. */
function commit(root: string): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const changed = git('status', '--porcelain', '--', 'src', 'bin') !== '';
    return `${git('rev-parse', '--short', 'HEAD')}${changed ? ' and changes' : ''}`;
  } catch {
    return 'unknown';
  }
}
