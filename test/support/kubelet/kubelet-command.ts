/** Runs the kubelet as users do: the compiled command in a separate process. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { kubeletPath } from '../../../lab/kubelet/kubelet-program.ts';
import { removeFolder } from '../../../lab/host/remove-folder.ts';
import { kubeletEnvironment } from './kubelet-environment.ts';

export { ensureBuilt } from '../../../lab/kubelet/build.ts';

export { kubeletPath };

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command to its end. */
export function kubelet(...args: string[]): CommandResult {
  const { status, stdout, stderr } = spawnSync(kubeletPath, args, { encoding: 'utf8', timeout: 20_000, env: kubeletEnvironment() });
  return { code: status, stdout, stderr };
}

const running = new Set<RunningKubelet>();

/** Creates a folder. At the end of the test the running kubelets that use it are killed, and the folder is removed. */
export function aFolder(t: { after(action: () => Promise<void>): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-command-'));
  t.after(async () => {
    await Promise.all([...running].filter((each) => each.uses(folder)).map((each) => each.destroy()));
    removeFolder(folder);
  });
  return folder;
}

export interface RunOptions {
  /** Default: the kubelet. Another command must replace itself with the kubelet. */
  readonly command?: string;
  /** Default: the current folder. */
  readonly cwd?: string;
  /** Default: `kubeletEnvironment()`. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A kubelet that runs until it is stopped, or until the test's folder is removed. */
export class RunningKubelet {
  readonly #child: ChildProcessByStdio<null, null, Readable>;
  readonly #paths: readonly string[];
  readonly ended: Promise<CommandResult>;
  #stderr = '';

  constructor(args: readonly string[], { command = kubeletPath, cwd, env = kubeletEnvironment() }: RunOptions = {}) {
    const child = spawn(command, args, { ...(cwd === undefined ? {} : { cwd }), env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    this.#paths = [...args, cwd ?? ''];
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout: '', stderr: this.#stderr })));
    running.add(this);
    void this.ended.then(() => running.delete(this));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stderr(): string {
    return this.#stderr;
  }

  uses(folder: string): boolean {
    return this.#paths.some((path) => path.includes(folder));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Nobody reads its log from now on. */
  closeLog(): void {
    this.#child.stderr.destroy();
  }

  async destroy(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
