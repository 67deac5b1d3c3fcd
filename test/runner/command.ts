/** Runs one command of a run of tests in a process group of its own, with a time limit, and measures it. */
import { spawn } from 'node:child_process';
import { CpuAccount } from './cpu-account.ts';

export interface CommandRun {
  /** For messages, and for the account of its CPU time. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The process group is killed then. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Called with the process group. */
  readonly onStart?: (processGroup: number) => void;
}

export interface CommandResult {
  /** Null when it was killed or did not start. */
  readonly code: number | null;
  /** The end of stdout and stderr, and why it was killed. */
  readonly output: string;
  readonly seconds: number;
  readonly cpuSeconds: number | undefined;
}

const maxOutputBytes = 4 * 1024 * 1024;

/** Never rejects. */
export async function runCommand({ name, command, args, env, limitMs, signal, onStart }: CommandRun): Promise<CommandResult> {
  const startedMs = performance.now();
  const account = CpuAccount.open(name);
  const child = spawn(...account.wrap(command, args), { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid !== undefined) onStart?.(child.pid);
  let output = '';
  const appendOutput = (text: string) => (output = (output + text).slice(-maxOutputBytes));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', appendOutput);
  const killGroup = (why: string) => {
    appendOutput(`\n${why}\n`);
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of the group have ended.
    }
  };
  const timer = setTimeout(() => killGroup(`${name} did not end within ${Math.round(limitMs / 1000)} s`), limitMs);
  const onAbort = () => killGroup('The run was stopped');
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (err) => {
      appendOutput(String(err));
      resolve(null);
    });
    child.once('close', resolve);
  });
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
  const cpuSeconds = account.seconds;
  account.close();
  return { code, output, seconds: (performance.now() - startedMs) / 1000, cpuSeconds };
}
