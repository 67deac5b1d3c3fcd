/**
 * Calls functions of the C library that Node does not offer, through koffi. mount, umount2 and malloc_trim run in libuv's threads, since they
 * can take long or hang. flock, prlimit and sched_setscheduler run on the calling thread. A failure is an Error with `code` (`EBUSY`), `errno`,
 * `syscall` and `path`, like Node's errors.
 */
import { getSystemErrorMap } from 'node:util';
import { bindAtFirstUse, type AsyncCall } from './c-library.ts';

/** Flags of mount(2), from linux/mount.h. */
export const MountFlag = {
  readOnly: 1,
  noSuid: 2,
  noDev: 4,
  noExec: 8,
  remount: 32,
  bind: 4096,
  recursive: 16384,
  private: 1 << 18,
  slave: 1 << 19,
  shared: 1 << 20,
} as const;

/** Flags of umount2(2). */
export const UnmountFlag = {
  force: 1,
  detach: 2,
  /** Does not follow a symlink that has replaced the mount point. */
  noFollow: 8,
} as const;

/** Operations of flock(2). */
export const LockOperation = { shared: 1, exclusive: 2, nonBlocking: 4, unlock: 8 } as const;

/** Policies of sched_setscheduler(2), from linux/sched.h. */
export const SchedulingPolicy = {
  /** The default policy, by nice values. */
  other: 0,
  /** Real-time round robin. */
  roundRobin: 2,
  /** A flag: threads and processes started by this thread get the default policy, and no nice value below 0. */
  resetOnFork: 0x40000000,
} as const;

export interface SystemCallError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;
}

interface Functions {
  readonly mount: { readonly async: AsyncCall };
  readonly umount2: { readonly async: AsyncCall };
  readonly mallocTrim: { readonly async: AsyncCall };
  readonly flock: (fd: number, operation: number) => number;
  readonly prlimit: (pid: number, resource: number, limit: BigUint64Array | null, old: BigUint64Array | null) => number;
  readonly schedSetScheduler: (thread: number, policy: number, priority: readonly [number]) => number;
}

const libc = bindAtFirstUse<Functions>(({ func }) => ({
  mount: func('int mount(const char *source, const char *target, const char *fstype, unsigned long flags, const char *data)'),
  umount2: func('int umount2(const char *target, int flags)'),
  mallocTrim: func('int malloc_trim(size_t pad)'),
  flock: func('int flock(int fd, int operation)'),
  // The structure has the soft and the hard limit.
  prlimit: func('int prlimit(int pid, int resource, const uint64_t *limit, _Out_ uint64_t *old)'),
  // The structure has one field.
  schedSetScheduler: func('int sched_setscheduler(int pid, int policy, const int *param)'),
}));

/** Loads koffi and the functions ahead of the first call, which takes a few ms. */
export function prepareNative(): void {
  libc();
}

/** Like an error of Node’s. */
export function toError(syscall: string, errno: number, path?: string): SystemCallError {
  const [code, text] = getSystemErrorMap().get(-errno) ?? [`E${errno}`, 'unknown error'];
  const pathText = path === undefined ? '' : ` '${path}'`;
  return Object.assign(new Error(`${code}: ${text}, ${syscall}${pathText}`), {
    code,
    errno,
    syscall,
    ...(path === undefined ? {} : { path }),
  });
}

const EINVAL = 22;

function callAsync(name: 'mount' | 'umount2', path: string, args: readonly unknown[]): Promise<void> {
  // A NUL would truncate the path, so that a path other than the checked one would be used.
  if (args.some((arg) => typeof arg === 'string' && arg.includes('\0'))) return Promise.reject(toError(name, EINVAL, path));
  return new Promise((resolve, reject) => {
    libc()[name].async(...args, (err: Error | null, result: number) => {
      if (err) reject(err);
      else if (result === 0) resolve();
      else reject(toError(name, libc().errno(), path));
    });
  });
}

/** mount(2). Rejects with SystemCallError, which contains the target. */
export function mount(source: string, target: string, fsType: string, flags: number, data: string): Promise<void> {
  return callAsync('mount', target, [source, target, fsType, flags, data]);
}

/** umount2(2). Rejects with SystemCallError: EINVAL when nothing is mounted there, EBUSY when the mount is in use. */
export function unmount(target: string, flags: number = UnmountFlag.noFollow): Promise<void> {
  return callAsync('umount2', target, [target, flags]);
}

/** flock(2). Blocks the thread without `LockOperation.nonBlocking`. Throws SystemCallError: EAGAIN when another process has the lock. */
export function flock(fd: number, operation: number): void {
  if (libc().flock(fd, operation) !== 0) throw toError('flock', libc().errno());
}

/** sched_setscheduler(2) for the calling thread. Throws SystemCallError: EPERM without the permission. */
export function setScheduler(policy: number, priority: number): void {
  if (libc().schedSetScheduler(0, policy, [priority]) !== 0) throw toError('sched_setscheduler', libc().errno());
}

/** RLIMIT_NOFILE of asm-generic/resource.h. */
const openFilesResource = 7;

/** The kubelet's limits of open files, from prlimit(2). */
export function openFilesLimits(): { readonly soft: number; readonly hard: number } {
  const limits = new BigUint64Array(2);
  if (libc().prlimit(0, openFilesResource, null, limits) !== 0) throw toError('prlimit', libc().errno());
  return { soft: Number(limits[0]), hard: Number(limits[1]) };
}

/** prlimit(2) for the kubelet and the children that it starts later. Throws SystemCallError: EPERM above the hard limit without CAP_SYS_RESOURCE. */
export function setOpenFilesLimits(soft: number, hard: number): void {
  const limits = BigUint64Array.of(BigInt(soft), BigInt(hard));
  if (libc().prlimit(0, openFilesResource, limits, null) !== 0) throw toError('prlimit', libc().errno());
}

/** malloc_trim(3) for the whole process. Allocations in other threads may wait about ten milliseconds meanwhile. */
export function trimFreeMemory(): Promise<void> {
  return new Promise((resolve, reject) => {
    libc().mallocTrim.async(0, (err: Error | null) => (err ? reject(err) : resolve()));
  });
}
