/**
 * Installs what guests need into the user's cache folder: the kernel (about ten minutes of one CPU, once) and the disk image (half a minute, once).
 *
 *   node lab/guest/install.ts [kernel | root]
 *
 * installs both or one of them, or exits with 1 and the reason.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheEntry, cacheKey, pruneCache } from '../cache/user-cache.ts';

export interface GuestFiles {
  readonly kernel: string;
  readonly image: string;
}

/** A file in the user's cache folder, and what determines its content. */
interface Part {
  readonly entry: string;
  readonly script: string;
  readonly sources: readonly string[];
  readonly result: string;
}

const parts = {
  kernel: { entry: 'guest-kernel', script: 'kernel.sh', sources: ['kernel.sh', 'kernel.config', 'debian.sh'], result: 'linux' },
  root: { entry: 'guest-root', script: 'root.sh', sources: ['root.sh', 'agent.sh', 'debian.sh'], result: 'root.img' },
} satisfies Record<string, Part>;

/** Throws when no guest can run on this host, and when a part cannot be installed. */
export function installGuest(): GuestFiles {
  return { kernel: installPart(parts.kernel), image: installPart(parts.root) };
}

/** Returns the path of the part's file. Two processes may install one part at the same time: the script lets the second one wait. */
function installPart({ entry, script, sources, result }: Part): string {
  const obstacle = findObstacle({
    platform: process.platform,
    arch: process.arch,
    uid: process.getuid?.() ?? -1,
    ptraceScope: readPtraceScope(),
  });
  if (obstacle !== undefined) throw new Error(`no guest can run here: ${obstacle}`);
  const folder = cacheEntry(entry, cacheKey({ files: sources.map((name) => join(import.meta.dirname, name)) }));
  const file = join(folder, result);
  if (existsSync(file)) return file;
  if (process.env.KUBELET_TEST_LANE !== undefined) {
    throw new Error(`${file} is missing, and a lane of tests has no network to build it. Run: node lab/guest/install.ts`);
  }
  const run = (path: string, argument: string) =>
    execFileSync('sh', [join(import.meta.dirname, path), argument], { stdio: ['ignore', 2, 2] });
  run('../host/packages.sh', '--for-guest');
  run(script, folder);
  pruneCache();
  return file;
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
  const [name, ...rest] = process.argv.slice(2);
  try {
    if (name === undefined) installGuest();
    else if (rest.length === 0 && Object.hasOwn(parts, name)) installPart(parts[name as keyof typeof parts]);
    else throw new Error(`unknown arguments: ${process.argv.slice(2).join(' ')}; known: kernel, root`);
  } catch (err) {
    console.error(err instanceof Error ? err.message : err);
    process.exitCode = 1;
  }
}
