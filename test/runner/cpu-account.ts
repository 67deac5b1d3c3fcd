/**
 * Counts the CPU time of a job: a cgroup in the hierarchy of cpuacct, which limits nothing. Containers and the control plane of a lane have
 * cgroups of their own and are not counted; the sum of a whole run is the host's (host-load.ts). Without that hierarchy nothing is counted.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeCgroup } from '../../lab/host/cgroups.ts';

const hierarchy = '/sys/fs/cgroup/cpuacct';
const prefix = 'kubelet-tests-';
const folderOf = (runPid: number) => join(hierarchy, `${prefix}${runPid}`);

/** Removes the cgroups of this run, and of runs that have ended. One whose last process has not ended yet is left for the next call. */
export function removeAccounts(): void {
  const names = existsSync(hierarchy) ? readdirSync(hierarchy).filter((name) => name.startsWith(prefix)) : [];
  const isEnded = (pid: string) => pid === String(process.pid) || !existsSync(`/proc/${pid}`);
  for (const name of names) if (isEnded(name.slice(prefix.length))) removeCgroup(name);
}

/** Takes a process that outlives its job out of the job's account. What it starts from now on is not counted there either. */
export function leaveAccount(runPid: number, pid: number): void {
  if (existsSync(folderOf(runPid))) writeFileSync(join(folderOf(runPid), 'cgroup.procs'), String(pid));
}

export class CpuAccount {
  readonly #folder: string | undefined;
  /** Of an earlier job of the name, whose processes have not ended yet. */
  readonly #before: number;

  private constructor(folder: string | undefined) {
    this.#folder = folder;
    this.#before = folder === undefined ? 0 : usageOf(folder);
  }

  /** @param name unique among running jobs */
  static open(name: string): CpuAccount {
    if (!existsSync(join(hierarchy, 'cpuacct.usage'))) return new CpuAccount(undefined);
    const folder = join(folderOf(process.pid), name);
    mkdirSync(folder, { recursive: true });
    return new CpuAccount(folder);
  }

  /** Returns a command that runs the given command and counts it. */
  wrap(command: string, args: readonly string[]): [string, string[]] {
    if (this.#folder === undefined) return [command, [...args]];
    return ['sh', ['-c', 'echo $$ > "$1"; shift; exec "$@"', 'sh', join(this.#folder, 'cgroup.procs'), command, ...args]];
  }

  /** Undefined when nothing is counted. */
  get seconds(): number | undefined {
    return this.#folder === undefined ? undefined : usageOf(this.#folder) - this.#before;
  }

  /** A cgroup whose processes have not ended yet is left. */
  close(): void {
    if (this.#folder === undefined) return;
    try {
      rmdirSync(this.#folder);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EBUSY') throw err;
    }
  }
}

function usageOf(folder: string): number {
  return Number(readFileSync(join(folder, 'cpuacct.usage'), 'utf8')) / 1e9;
}
