/** Background processes that outlive the command that started them. They are identified by a pid file and their command line. */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Daemon {
  readonly pidFile: string;
  /** A part of the command line that no other process has. */
  readonly commandLineMark: string;
}

/** Returns the pid if the process runs. Checks the command line, because pids are reused. */
export function findRunningPid({ pidFile, commandLineMark }: Daemon): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return commandLine.includes(commandLineMark) || (commandLine === '' && isExecuting(pid)) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** A process has no command line for a moment during exec, and a zombie never has one. Returns true for the former. */
function isExecuting(pid: number): boolean {
  return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Starts a detached process and appends its output to `logFile`. */
export function startDaemon(daemon: Daemon, command: string, args: readonly string[], logFile: string): number {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log] });
  if (child.pid === undefined) throw new Error(`${command} could not be started`);
  child.unref();
  writeFileSync(daemon.pidFile, String(child.pid));
  return child.pid;
}

/** Sends SIGTERM, and SIGKILL after `graceMs`. */
export async function stopDaemon(daemon: Daemon, graceMs = 10_000): Promise<void> {
  const pid = findRunningPid(daemon);
  if (pid !== undefined) {
    process.kill(pid, 'SIGTERM');
    for (let waitedMs = 0; findRunningPid(daemon) !== undefined; waitedMs += 20) {
      if (waitedMs >= graceMs) process.kill(pid, 'SIGKILL');
      await sleep(20);
    }
  }
  rmSync(daemon.pidFile, { force: true });
}
