/**
 * Installs what guests need: host packages, the kernel (11 minutes of one CPU, once) and the disk image (a minute, once). Both are kept in
 * `.cache`, or in the folder that KUBELET_GUEST_CACHE names. As a command: installs, or exits with 1 and the reason.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface GuestFiles {
  readonly kernel: string;
  readonly image: string;
}

const project = join(import.meta.dirname, '../../..');

/** Throws when no guest can run on this host, and when a part cannot be installed. */
export function installGuest(): GuestFiles {
  const obstacle = findObstacle({
    platform: process.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? -1,
    ptraceScope: readPtraceScope(),
  });
  if (obstacle !== undefined) throw new Error(`no guest can run here: ${obstacle}`);
  const cache = process.env.KUBELET_GUEST_CACHE ?? join(project, '.cache');
  const run = (script: string, ...args: string[]) =>
    execFileSync('sh', [join(import.meta.dirname, script), ...args], { stdio: ['ignore', 2, 2] });
  run('packages.sh');
  run('kernel.sh', join(cache, 'guest-kernel'));
  run('root.sh', join(cache, 'guest-root'));
  return { kernel: join(cache, 'guest-kernel/linux'), image: join(cache, 'guest-root/root.img') };
}

export interface HostFacts {
  readonly platform: string;
  readonly arch: string;
  readonly uid: number;
  /** /proc/sys/kernel/yama/ptrace_scope; 0 without Yama. */
  readonly ptraceScope: number;
}

/** Returns why no guest can run on such a host, or undefined. */
export function findObstacle({ platform, arch, uid, ptraceScope }: HostFacts): string | undefined {
  if (platform !== 'linux' || arch !== 'x64') return `User Mode Linux needs Linux on x86-64, and this is ${platform} on ${arch}`;
  if (uid !== 0) return 'building its disk image needs root';
  if (ptraceScope > 2) return 'the host forbids ptrace (kernel.yama.ptrace_scope is 3)';
  return undefined;
}

function readPtraceScope(): number {
  try {
    return Number(readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8'));
  } catch {
    return 0;
  }
}

if (import.meta.main) {
  try {
    installGuest();
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exitCode = 1;
  }
}
