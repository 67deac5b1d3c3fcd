/**
 * The few calls of the C library that Node does not offer, through koffi: mount and umount2 (in libuv's pool, since they can hang), malloc_trim
 * (there too), flock and sched_setscheduler (at once, never waiting). A failure is an Error with `code` (`EBUSY`), `errno`, `syscall` and the path, like Node's own.
 */
import { createRequire } from 'node:module';
import { getSystemErrorMap } from 'node:util';
import type koffi from 'koffi';

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
  /** Does not follow a symlink that stands where the mount point was. */
  noFollow: 8,
} as const;

/** Operations of flock(2). */
export const LockOperation = { shared: 1, exclusive: 2, nonBlocking: 4, unlock: 8 } as const;

/** Policies of sched_setscheduler(2), from linux/sched.h. */
export const SchedulingPolicy = {
  /** By nice values. */
  other: 0,
  /** In real time, by turns. */
  roundRobin: 2,
  /** Beside it: what the thread starts goes by nice values, with none below 0. */
  resetOnFork: 0x40000000,
} as const;

export interface SystemCallError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;
}

type AsyncCall = (...args: [...unknown[], callback: (err: Error | null, result: number) => void]) => void;

interface Functions {
  readonly mount: { readonly async: AsyncCall };
  readonly umount2: { readonly async: AsyncCall };
  readonly mallocTrim: { readonly async: AsyncCall };
  readonly flock: (fd: number, operation: number) => number;
  /** Of the last call that was not asynchronous, or whose callback this is. */
  readonly errno: () => number;
  readonly schedSetScheduler: (thread: number, policy: number, priority: readonly [number]) => number;
}

let loaded: Functions | undefined;

/**
 * The C library is already in the process: `load(null)` opens no file. Bound at first use, because most threads never need it; and koffi with
 * it, because a thread that is ended while its addon loads takes the whole process with it (a fatal error of Node's addon interface).
 */
function libc(): Functions {
  if (loaded) return loaded;
  const native = createRequire(import.meta.url)('koffi') as typeof koffi;
  const library = native.load(null);
  loaded = {
    errno: () => native.errno(),
    mount: library.func('int mount(const char *source, const char *target, const char *fstype, unsigned long flags, const char *data)'),
    umount2: library.func('int umount2(const char *target, int flags)'),
    mallocTrim: library.func('int malloc_trim(size_t pad)'),
    flock: library.func('int flock(int fd, int operation)') as unknown as Functions['flock'],
    // The structure has one field.
    schedSetScheduler: library.func(
      'int sched_setscheduler(int pid, int policy, const int *param)',
    ) as unknown as Functions['schedSetScheduler'],
  };
  return loaded;
}

/** Loads what the first call would: a few ms. */
export function prepareNative(): void {
  libc();
}

function toError(syscall: string, errno: number, path?: string): SystemCallError {
  const [code, text] = getSystemErrorMap().get(-errno) ?? [`E${errno}`, 'unknown error'];
  const where = path === undefined ? '' : ` '${path}'`;
  return Object.assign(new Error(`${code}: ${text}, ${syscall}${where}`), {
    code,
    errno,
    syscall,
    ...(path === undefined ? {} : { path }),
  });
}

function callAsync(name: 'mount' | 'umount2', path: string, args: readonly unknown[]): Promise<void> {
  // A NUL would cut the path short, and another one than was checked would be used.
  if (args.some((arg) => typeof arg === 'string' && arg.includes('\0'))) return Promise.reject(toError(name, 22, path));
  return new Promise((resolve, reject) => {
    libc()[name].async(...args, (err: Error | null, result: number) => {
      if (err) reject(err);
      else if (result === 0) resolve();
      else reject(toError(name, libc().errno(), path));
    });
  });
}

/** mount(2). Rejects with SystemCallError that names the target. */
export function mount(source: string, target: string, fsType: string, flags: number, data: string): Promise<void> {
  return callAsync('mount', target, [source, target, fsType, flags, data]);
}

/** umount2(2). Rejects with SystemCallError: EINVAL is "nothing is mounted there", EBUSY "in use". */
export function unmount(target: string, flags: number = UnmountFlag.noFollow): Promise<void> {
  return callAsync('umount2', target, [target, flags]);
}

/** flock(2); give `LockOperation.nonBlocking`, else it blocks the thread. Throws SystemCallError: EAGAIN when another holds the lock. */
export function flock(fd: number, operation: number): void {
  if (libc().flock(fd, operation) !== 0) throw toError('flock', libc().errno());
}

/** sched_setscheduler(2) of the thread that asks. Throws SystemCallError: EPERM where it is not allowed. */
export function setScheduler(policy: number, priority: number): void {
  if (libc().schedSetScheduler(0, policy, [priority]) !== 0) throw toError('sched_setscheduler', libc().errno());
}

/** malloc_trim(3) of all that is free, in the whole process. Whoever allocates meanwhile may wait for some ten milliseconds. */
export function trimFreeMemory(): Promise<void> {
  return new Promise((resolve, reject) => {
    libc().mallocTrim.async(0, (err: Error | null) => (err ? reject(err) : resolve()));
  });
}
