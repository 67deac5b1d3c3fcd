/**
 * Kills all processes in a cgroup and below it, and removes the cgroup from every hierarchy. Containers, some of them privileged, may have left
 * frozen processes there, processes that fork faster than they are killed, and child cgroups.
 */
import { existsSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import type { Logger } from '../../../shared/log/logger.ts';
import { withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { fromByteText, walkCgroups } from './walk-cgroups.ts';

export interface RemoveCgroupOptions {
  readonly version: 1 | 2;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends SIGKILL to a process. Returns false when the process has exited. */
  readonly kill?: (pid: number) => boolean;
}

/** The eight waits between nine attempts take 10 ms · (2^8 − 1) ≈ 2.6 s together, and with jitter up to half as much more. */
const maxAttempts = 9;
/** The wait doubles after each attempt: killed processes need a moment to exit. */
const firstWaitMs = 10;
const maxLoggedPids = 10;

/**
 * `folders` are the cgroup's folders in all hierarchies, as byte texts (walk-cgroups.ts). Succeeds when none exists. Rejects with an Error that names
 * the path when the cgroup is still busy after some seconds.
 */
export async function removeCgroup(
  path: string,
  folders: readonly string[],
  options: RemoveCgroupOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1, waitMs = firstWaitMs; ; attempt += 1, waitMs *= 2) {
    signal.throwIfAborted();
    await killProcesses(folders, options, signal);
    const failures: unknown[] = [];
    for (const folder of folders) await walkCgroups(folder, { leave: (left) => tryToRemove(left, failures) }, signal);
    if (failures.length === 0) return;
    if (attempt >= maxAttempts) throw new Error(`cannot remove the cgroup ${path}`, { cause: failures[0] });
    await options.clock.sleep(withJitter(waitMs, 0.5), signal);
  }
}

/** Sends SIGKILL to all processes in the cgroup and below it. */
export async function killProcesses(folders: readonly string[], options: RemoveCgroupOptions, signal?: AbortSignal): Promise<void> {
  const found = await listProcesses(folders, signal);
  if (found.size === 0) return;
  // A privileged container can move any process into its cgroup, even the kubelet, which must neither freeze nor kill itself.
  const hasKubelet = found.has(process.pid);
  const killed =
    !hasKubelet && options.version === 2 && folders.every(killWithKernel)
      ? [...found]
      : await killEach(found, hasKubelet, folders, options, signal);
  if (killed.length > 0)
    options.logger.info(
      { processes: killed.length, pids: killed.slice(0, maxLoggedPids) },
      'killed processes that were left in the cgroup of a pod',
    );
}

/** Returns the killed processes. With v1 all are frozen first and listed again, so that none can fork away. */
async function killEach(
  found: ReadonlySet<number>,
  hasKubelet: boolean,
  folders: readonly string[],
  { version, kill = killProcess }: RemoveCgroupOptions,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  if (version === 1 && !hasKubelet) folders.forEach(freeze);
  try {
    const current = version === 2 || hasKubelet ? found : await listProcesses(folders, signal);
    return [...current].filter((pid) => pid > 1 && pid !== process.pid && kill(pid));
  } finally {
    // A frozen process dies only when it is thawed. A container may also have frozen child cgroups.
    if (version === 1) for (const folder of folders) await thawAll(folder);
  }
}

async function listProcesses(folders: readonly string[], signal: AbortSignal | undefined): Promise<Set<number>> {
  const pids = new Set<number>();
  const enter = (folder: string) => {
    for (const pid of readOrEmpty(`${folder}/cgroup.procs`).split('\n')) if (pid !== '') pids.add(Number(pid));
  };
  for (const folder of folders) await walkCgroups(folder, { enter }, signal);
  return pids;
}

/**
 * Makes the kernel kill all processes of the cgroup at once (since Linux 5.14), so that none can fork away. A kill by PID could hit another pod: after
 * a fork bomb the kernel soon reuses the PIDs of dead processes. Returns false when the kernel does not have `cgroup.kill`.
 */
function killWithKernel(folder: string): boolean {
  return tryToWrite(`${folder}/cgroup.kill`, '1');
}

/** Only the freezer hierarchy has the file. */
function freeze(folder: string): void {
  if (existsSync(fromByteText(`${folder}/freezer.state`))) tryToWrite(`${folder}/freezer.state`, 'FROZEN');
}

export function thawAll(folder: string): Promise<void> {
  return walkCgroups(folder, { enter: thaw });
}

function thaw(folder: string): void {
  const file = `${folder}/freezer.state`;
  if (!['', 'THAWED'].includes(readOrEmpty(file).trim())) tryToWrite(file, 'THAWED');
}

/** Returns whether the write succeeded. A failure is ignored: if processes are left, the next attempt handles them. */
function tryToWrite(file: string, value: string): boolean {
  try {
    writeFileSync(fromByteText(file), value, { flag: 'r+' });
    return true;
  } catch {
    return false;
  }
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(fromByteText(file), 'utf8');
  } catch {
    return '';
  }
}

function tryToRemove(folder: string, failures: unknown[]): void {
  try {
    rmdirSync(fromByteText(folder));
  } catch (err) {
    // One error is enough for the report.
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT' && failures.length === 0) failures.push(err);
  }
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
