/**
 * Runs a command once, as a child process with a deadline and bounded output: an exec plugin of the kubeconfig, a credential provider
 * for images, iptables, or a program for disks.
 */
import { spawn, type ChildProcess } from 'node:child_process';

export interface PluginCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Written to the plugin's standard input. Absent: the input is empty. */
  readonly stdin?: string;
  /** Default: a minute. */
  readonly deadlineMs?: number;
}

/** The result of a run. `not found`: the command is missing or not executable. */
export type PluginExit =
  | { readonly result: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly result: 'not found' }
  | { readonly result: 'failed'; readonly message: string };

/**
 * A plugin may query a cloud's metadata server or sign in. Upstream's deadline of credential providers; its exec plugins have none.
 */
const defaultDeadlineMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** Enough for an error message. A plugin may print it in several chunks. */
const maxErrorBytes = 2048;
const maxErrorChunks = 16;

/** Rejects when an argument or a variable contains a NUL. */
export function runPlugin(
  { command, args, env, stdin, deadlineMs = defaultDeadlineMs }: PluginCommand,
  signal: AbortSignal,
): Promise<PluginExit> {
  return new Promise((resolve) => {
    // A separate process group, so that a kill also ends the plugin's children.
    const child: ChildProcess = spawn(command, args, { env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
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
      // A descendant that left the process group may keep the pipes open.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      settle({ result: 'failed', message });
    };
    const abort = () => kill('stopped');
    const timer = setTimeout(() => kill(`did not end within ${deadlineMs / 1000} s`), deadlineMs);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    // All streams are missing when the kubelet has no free descriptors. A plugin need not read its input.
    child.stdin?.on('error', () => {}).end(stdin);
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxOutputBytes) kill(`printed more than ${maxOutputBytes} bytes`);
      else stdout.push(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < maxErrorChunks) stderr.push(chunk.subarray(0, maxErrorBytes));
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
    // The process group has already ended.
  }
}
