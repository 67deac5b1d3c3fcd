/**
 * A Debian 12 guest with systemd and cgroup v2 in User Mode Linux: an ordinary process of this host, without KVM. Owns the guest's folder, its
 * throwaway disk and its process. Used by the tests in test/guest. README.md of this folder describes the parts.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { GuestProcess, type GuestNetwork } from './guest-process.ts';

export type { GuestNetwork } from './guest-process.ts';
import { createGuestFolder } from './guest-folders.ts';
import { raiseMappingLimit } from './host-mappings.ts';
import { installGuest } from './install.ts';

export interface GuestOptions {
  /** Of the guest, as the kernel reads it: `3G`. Default: 2G. The host gives only what the guest touches. */
  readonly memory?: string;
  /** Default: 1. All of them share one CPU of the host. */
  readonly cpus?: number;
  /** Folders of the host that have the same path in the guest, read-only. */
  readonly share?: readonly string[];
  /** Default: no network. */
  readonly network?: GuestNetwork;
  /** Default: 60 s. A boot takes 3 to 6 s on an idle host. */
  readonly bootTimeoutMs?: number;
}

export interface RunOptions {
  /** The command is killed then, and `run` rejects. Default: 60 s. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  /** 128 + the signal's number when the shell was killed. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The guest kills a command at its time-out. The answer needs some time more on a busy host. */
const answerAllowanceMs = 15_000;
const powerOffTimeoutMs = 10_000;
const exchangeInGuest = '/run/exchange';

export class Guest {
  /** On the host. Its `console.log` has the kernel's and systemd's messages. */
  readonly folder: string;
  readonly #process: GuestProcess;
  #lastId = 0;

  private constructor(folder: string, guestProcess: GuestProcess) {
    this.folder = folder;
    this.#process = guestProcess;
  }

  /** Installs what is missing, which takes minutes once, and boots. Rejects with the end of the console when the guest does not come up. */
  static async boot(options: GuestOptions = {}): Promise<Guest> {
    const { kernel, image } = installGuest();
    const { memory = '2G', cpus = 1, share = [], network, bootTimeoutMs = 60_000 } = options;
    raiseMappingLimit();
    const folder = createGuestFolder();
    const exchange = join(folder, 'exchange');
    mkdirSync(exchange);
    writeFileSync(join(exchange, 'shares'), share.map((path) => `ro ${resolve(path)}\n`).join(''));
    const guestProcess = GuestProcess.start({ kernel, image, folder, exchange, memory, cpus, network });
    const guest = new Guest(folder, guestProcess);
    try {
      await guestProcess.waitFor('ready', bootTimeoutMs);
    } catch (err) {
      await guest.#remove();
      throw new Error('the guest does not boot', { cause: err });
    }
    return guest;
  }

  /** Runs a shell command as root. Several may run at once. Rejects at the time-out, and when the guest ends. */
  async run(command: string, { timeoutMs = 60_000 }: RunOptions = {}): Promise<CommandResult> {
    this.#lastId += 1;
    const id = String(this.#lastId);
    const path = (suffix: string) => join(this.folder, 'exchange', `${id}.${suffix}`);
    writeFileSync(path('cmd'), command);
    const done = this.#process.waitFor(`done ${id}`, timeoutMs + answerAllowanceMs);
    const startedMs = performance.now();
    this.#process.send(`${id} ${timeoutMs / 1000}`);
    try {
      await done;
    } catch (err) {
      throw new Error(`in the guest: ${command}\n${this.#progressOf(id)}`, { cause: err });
    }
    const result = {
      code: Number(readFileSync(path('code'), 'utf8')),
      stdout: readFileSync(path('out'), 'utf8'),
      stderr: readFileSync(path('err'), 'utf8'),
    };
    for (const suffix of ['cmd', 'out', 'err', 'code']) rmSync(path(suffix), { force: true });
    if (result.code === 137 && performance.now() - startedMs >= timeoutMs) {
      throw new Error(`in the guest: ${command}: killed after ${timeoutMs} ms\n${result.stdout}${result.stderr}`);
    }
    return result;
  }

  /** Runs a command that has to succeed. Returns its stdout without white space at the end. Rejects with its output. */
  async check(command: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, options);
    if (code !== 0) throw new Error(`in the guest: ${command}: exit code ${code}\n${stdout}${stderr}`);
    return stdout.trimEnd();
  }

  /** Copies one file of the host to a path in the guest. Keeps its mode. */
  async copyIn(hostPath: string, guestPath: string): Promise<void> {
    const name = this.#newName(hostPath);
    copyFileSync(hostPath, join(this.folder, 'exchange', name));
    await this.check(`mkdir -p "$(dirname '${guestPath}')" && mv '${exchangeInGuest}/${name}' '${guestPath}'`);
  }

  /** Writes a text file in the guest. */
  async write(guestPath: string, text: string): Promise<void> {
    const name = this.#newName(guestPath);
    writeFileSync(join(this.folder, 'exchange', name), text);
    await this.check(`mkdir -p "$(dirname '${guestPath}')" && mv '${exchangeInGuest}/${name}' '${guestPath}'`);
  }

  /** Copies one file of the guest to a path on the host. */
  async copyOut(guestPath: string, hostPath: string): Promise<void> {
    const name = this.#newName(guestPath);
    await this.check(`cp '${guestPath}' '${exchangeInGuest}/${name}'`);
    copyFileSync(join(this.folder, 'exchange', name), hostPath);
    rmSync(join(this.folder, 'exchange', name));
  }

  /** Powers off without stopping services: the disk is thrown away. Kills the guest when it does not end in time. Idempotent. */
  async shutdown(): Promise<void> {
    if (this.#process.isRunning) {
      void this.run('poweroff -f').catch(() => undefined);
      await this.#process.waitForEnd(powerOffTimeoutMs);
    }
    await this.#remove();
  }

  /** The end of the console. */
  consoleText(): string {
    return this.#process.consoleText();
  }

  async #remove(): Promise<void> {
    await this.#process.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What the agent has written for a command: no file, it has not read the line; the code, its answer got lost. */
  #progressOf(id: string): string {
    const folder = join(this.folder, 'exchange');
    const written = (suffix: string) => {
      const path = join(folder, `${id}.${suffix}`);
      return existsSync(path) ? JSON.stringify(readFileSync(path, 'utf8').slice(0, 1000)) : 'missing';
    };
    return `stdout ${written('out')}, stderr ${written('err')}, exit code ${written('code')}`;
  }

  #newName(path: string): string {
    this.#lastId += 1;
    return `${this.#lastId}.${basename(path)}`;
  }
}
