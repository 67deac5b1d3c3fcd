/** One run of a credential plugin: a child process with a deadline, whose output is bounded. */
import { spawn } from 'node:child_process';

export interface PluginCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How it ended. `not found` is a command that could not be started. */
export type PluginExit =
  | { readonly result: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly result: 'not found' }
  | { readonly result: 'failed'; readonly message: string };

/** A plugin asks a cloud's metadata server or signs in somewhere; upstream waits for ever. */
const deadlineMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** Enough to say what is wrong. */
const maxErrorBytes = 2048;

export function runPlugin({ command, args, env }: PluginCommand, signal: AbortSignal): Promise<PluginExit> {
  return new Promise((resolve) => {
    // Its own process group: what the plugin itself starts ends with it.
    const child = spawn(command, args, { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let length = 0;
    const settle = (exit: PluginExit) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      resolve(exit);
    };
    const kill = (message: string) => {
      if (child.pid !== undefined) killGroup(child.pid);
      // Whoever left the group may hold the pipes open for good: nobody waits for that.
      child.stdout.destroy();
      child.stderr.destroy();
      settle({ result: 'failed', message });
    };
    const abort = () => kill('stopped');
    const timer = setTimeout(() => kill(`did not end within ${deadlineMs / 1000} s`), deadlineMs);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    child.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxOutputBytes) kill(`printed more than ${maxOutputBytes} bytes`);
      else stdout.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < 16) stderr.push(chunk.subarray(0, maxErrorBytes));
    });
    child.on('error', (err: NodeJS.ErrnoException) => {
      const isMissing = err.code === 'ENOENT' || err.code === 'EACCES' || err.code === 'ENOTDIR';
      settle(isMissing ? { result: 'not found' } : { result: 'failed', message: err.message });
    });
    child.on('close', (code, killedBy) => {
      if (code === null) settle({ result: 'failed', message: `was ended by ${killedBy ?? 'a signal'}` });
      else
        settle({
          result: 'exited',
          code,
          stdout: Buffer.concat(stdout).toString(),
          stderr: Buffer.concat(stderr).toString().slice(0, maxErrorBytes),
        });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
