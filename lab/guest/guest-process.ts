/** The process of one guest, and the serial line to its agent (agent.sh). Each line of the guest is one answer. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { nextHostCPU } from './host-cpu.ts';

export interface GuestMachine {
  readonly kernel: string;
  /** Never written: the guest has a disk of its own over it. */
  readonly image: string;
  /** The guest's disk, console and User Mode Linux' own files. */
  readonly folder: string;
  readonly exchange: string;
  readonly memory: string;
  readonly cpus: number;
  readonly network?: GuestNetwork | undefined;
}

/** The guest gets `vec0`, which sends and receives on an interface of a network namespace of the host. */
export interface GuestNetwork {
  /** Its name. Default: the namespace of this process. */
  readonly namespace?: string;
  readonly interface: string;
}

const consoleLines = 25;

export class GuestProcess {
  readonly #child: ChildProcess;
  readonly #console: string;
  readonly #waiting = new Map<string, { resolve: () => void; reject: (err: Error) => void }>();
  readonly #ended: Promise<void>;
  #running = true;

  private constructor(child: ChildProcess, console: string) {
    this.#child = child;
    this.#console = console;
    const lines = createInterface({ input: child.stdio[4] as unknown as Duplex });
    lines.on('line', (text) => this.#waiting.get(text.trim())?.resolve());
    this.#ended = new Promise((resolve) => {
      const end = (why: string) => {
        this.#running = false;
        for (const { reject } of this.#waiting.values()) reject(new Error(`${why}; the end of its console:\n${this.consoleText()}`));
        this.#waiting.clear();
        resolve();
      };
      child.once('error', (err) => end(`the guest cannot be started: ${err.message}`));
      child.once('exit', (code, signal) => end(`the guest has ended (${signal ?? `exit code ${code}`})`));
    });
  }

  static start({ kernel, image, folder, exchange, memory, cpus, network }: GuestMachine): GuestProcess {
    const console = join(folder, 'console.log');
    const output = openSync(console, 'a');
    const args = [
      `mem=${memory}`,
      `ncpus=${cpus}`,
      `ubd0=${folder}/disk.cow,${image}`,
      'root=/dev/ubda rw',
      'con0=null,fd:1 con=null ssl=null ssl0=fd:3,fd:4',
      'seccomp=on',
      `uml_dir=${folder}/uml umid=guest`,
      'systemd.show_status=0 quiet loglevel=4',
      `guest.exchange=${exchange}`,
      ...(network === undefined ? [] : [`vec0:transport=raw,ifname=${network.interface}`]),
    ].flatMap((part) => part.split(' '));
    // The guest must not outlive a test process that is killed.
    const command = ['setpriv', '--pdeathsig', 'KILL', 'taskset', '--cpu-list', String(nextHostCPU()), kernel, ...args];
    const namespace = network?.namespace;
    const [program = '', ...rest] = namespace === undefined ? command : ['nsenter', `--net=/run/netns/${namespace}`, ...command];
    const child = spawn(program, rest, {
      stdio: ['ignore', output, output, 'pipe', 'pipe'],
      detached: true,
      // Its memory is a file in a tmpfs.
      env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: '/dev/shm' },
    });
    closeSync(output);
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    return new GuestProcess(child, console);
  }

  get isRunning(): boolean {
    return this.#running;
  }

  send(text: string): void {
    if (this.#running) (this.#child.stdio[3] as unknown as Duplex).write(`${text}\n`);
  }

  /** Rejects when the answer does not come in time, and when the guest ends. */
  async waitFor(answer: string, timeoutMs: number): Promise<void> {
    if (!this.#running) throw new Error(`the guest has ended; the end of its console:\n${this.consoleText()}`);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.set(answer, { resolve, reject });
        const late = () => reject(new Error(`no answer within ${timeoutMs} ms; the end of its console:\n${this.consoleText()}`));
        timer = setTimeout(late, timeoutMs);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(answer);
    }
  }

  consoleText(): string {
    return readFileSync(this.#console, 'utf8').split('\n').slice(-consoleLines).join('\n');
  }

  /** Returns whether it has ended. */
  async waitForEnd(timeoutMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.#ended, timeout]);
    clearTimeout(timer);
    return !this.#running;
  }

  /** Kills the guest with its processes. */
  async kill(): Promise<void> {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // All of the group have ended.
    }
    await this.#ended;
  }
}
