/** One program of a control plane: started, waited for and ended by its pid, its output in a file of the control plane's folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningPid, startDaemon, stopDaemon, type Daemon } from '../up/processes.ts';

export interface ProgramOptions {
  readonly name: string;
  /** The control plane's; some flag of the program has it in its value, which is how its process is known. */
  readonly folder: string;
  readonly binary: string;
  readonly flags: readonly string[];
  /** Goes on when the process that started it ends; else the kernel ends it then, however that comes to its end. */
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

  /** While it runs. */
  get pid(): number | undefined {
    return runningPid(this.#daemon);
  }

  /** Not twice: one that runs is left alone. */
  start(): void {
    if (this.pid !== undefined) return;
    const { binary, flags, detached } = this.#options;
    // setpriv becomes the program, under the same pid.
    const [command, args] = detached ? [binary, flags] : ['setpriv', ['--pdeathsig', 'KILL', '--', binary, ...flags]];
    startDaemon(this.#daemon, command, args, this.logFile);
  }

  /** Waits until `isReady` says so: it may throw while it is not. Ends early, with the end of the log, when the program does. */
  async ready(isReady: () => Promise<boolean>, deadlineMs: number): Promise<void> {
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
  return { pidFile: join(folder, `${name}.pid`), mark: `${folder}/` };
}

/**
 * Ends the program of that name in that folder, whichever process started it; nothing when there is none. SIGTERM, and SIGKILL to one
 * that has not gone after `graceMs`; at once when that is 0.
 */
export async function stopProgram(folder: string, name: string, graceMs: number): Promise<void> {
  const daemon = daemonOf(folder, name);
  const pid = runningPid(daemon);
  await stopDaemon(daemon, graceMs);
  if (pid !== undefined) await socketsClosed(pid, performance.now() + 5000);
}

/** The program of that name in that folder does nothing, whichever process started it, until the answer is called. Throws when there is none. */
export function pauseProgram(folder: string, name: string): () => void {
  const pid = runningPid(daemonOf(folder, name));
  if (pid === undefined) throw new Error(`${name} does not run in ${folder}`);
  process.kill(pid, 'SIGSTOP');
  return () => process.kill(pid, 'SIGCONT');
}

/** The first thread of a killed program is gone before the last one, and it is the last one that closes the sockets. */
async function socketsClosed(pid: number, endMs: number): Promise<void> {
  while (threadsOf(pid) > 1 && performance.now() < endMs) await sleep(5);
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}
