/** One process of a control plane. Its pid and its output are in files of the control plane's folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findRunningPid, startDaemon, stopDaemon, type Daemon } from '../host/daemon.ts';

export interface ProgramOptions {
  readonly name: string;
  /** The control plane's folder. Every program has it in a flag, by which its process is recognized. */
  readonly folder: string;
  readonly binary: string;
  readonly flags: readonly string[];
  /** True: keeps running when the starting process ends. False: the kernel kills it then. */
  readonly detached: boolean;
}

export class ControlPlaneProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #options: ProgramOptions;
  readonly #daemon: Daemon;

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
    this.#daemon = daemonOf(options.folder, options.name);
  }

  /** Undefined when it does not run. */
  get pid(): number | undefined {
    return findRunningPid(this.#daemon);
  }

  /** Does nothing if the program runs already. */
  start(): void {
    if (this.pid !== undefined) return;
    const { binary, flags, detached } = this.#options;
    // setpriv executes the program with the same pid.
    const [command, args] = detached ? [binary, flags] : ['setpriv', ['--pdeathsig', 'KILL', '--', binary, ...flags]];
    startDaemon(this.#daemon, command, args, this.logFile);
  }

  /** Waits until `isReady` returns true; it may throw before. Rejects with the end of the log when the program ends. */
  async waitUntilReady(isReady: () => Promise<boolean>, deadlineMs: number): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    let last: unknown = 'not yet';
    while (performance.now() < endMs) {
      if (this.pid === undefined) throw new Error(`${this.name} has ended; the end of ${this.logFile}:\n${this.#endOfLog()}`);
      try {
        if (await isReady()) return;
      } catch (err) {
        last = err;
      }
      await sleep(50);
    }
    throw new Error(
      `${this.name} is not ready after ${deadlineMs} ms (${String(last)}); the end of ${this.logFile}:\n${this.#endOfLog()}`,
      {
        cause: last,
      },
    );
  }

  #endOfLog(): string {
    try {
      return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
    } catch (err) {
      return `(${String(err)})`;
    }
  }
}

function daemonOf(folder: string, name: string): Daemon {
  return { pidFile: join(folder, `${name}.pid`), commandLineMark: `${folder}/` };
}

/**
 * Ends the program, whichever process started it. Sends SIGTERM, and SIGKILL after `graceMs`, immediately when it is 0. Does nothing when the
 * program does not run.
 */
export async function stopProgram(folder: string, name: string, graceMs: number): Promise<void> {
  const daemon = daemonOf(folder, name);
  const pid = findRunningPid(daemon);
  await stopDaemon(daemon, graceMs);
  if (pid !== undefined) await waitUntilSocketsClosed(pid, performance.now() + 5000);
}

/** Pauses the program with SIGSTOP; call the result to continue it. Throws when the program does not run. */
export function pauseProgram(folder: string, name: string): () => void {
  const pid = findRunningPid(daemonOf(folder, name));
  if (pid === undefined) throw new Error(`${name} does not run in ${folder}`);
  process.kill(pid, 'SIGSTOP');
  return () => process.kill(pid, 'SIGCONT');
}

/** Waits for all threads of a killed program: the last one closes the sockets. */
async function waitUntilSocketsClosed(pid: number, endMs: number): Promise<void> {
  while (threadsOf(pid) > 1 && performance.now() < endMs) await sleep(5);
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}
