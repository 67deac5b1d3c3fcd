/** Processes that outlive the command that started them: known by a pid file, and proved by what they were called with. */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Daemon {
  readonly pidFile: string;
  /** A word of its command line that no other process has. */
  readonly mark: string;
}

/** Its pid while it runs: a pid is used again, so its command line must bear the mark. */
export function runningPid({ pidFile, mark }: Daemon): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return commandLine.includes(mark) || (commandLine === '' && isBecomingAnother(pid)) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Between two programs (an exec) a process has no command line for a moment; an ended one that nobody waited for has none for good. */
function isBecomingAnother(pid: number): boolean {
  return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Starts it detached, its output at the end of `logFile`. */
export function startDaemon(daemon: Daemon, command: string, args: readonly string[], logFile: string): number {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log] });
  if (child.pid === undefined) throw new Error(`${command} could not be started`);
  child.unref();
  writeFileSync(daemon.pidFile, String(child.pid));
  return child.pid;
}

/** SIGTERM, and SIGKILL to one that has not gone after `graceMs`. */
export async function stopDaemon(daemon: Daemon, graceMs = 10_000): Promise<void> {
  const pid = runningPid(daemon);
  if (pid !== undefined) {
    process.kill(pid, 'SIGTERM');
    for (let waitedMs = 0; runningPid(daemon) !== undefined; waitedMs += 20) {
      if (waitedMs >= graceMs) process.kill(pid, 'SIGKILL');
      await sleep(20);
    }
  }
  rmSync(daemon.pidFile, { force: true });
}
