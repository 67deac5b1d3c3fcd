/**
 * A separate containerd with its root, state, socket and networks in one folder. It shares nothing with other instances on the host. Used by
 * `npm run up`, `npm run cluster`, the end-to-end tests and the benchmarks.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient } from '../../src/shared/cri/client.ts';
import { removeFolder } from '../host/remove-folder.ts';
import { containerdConfigText, containerdEndpoint, podNetworkText, type ContainerdSettings } from './containerd-config.ts';
import { buildLocalImageArchives } from './local-images.ts';
import { copyPreparedRoot } from './prepared-root.ts';

export interface PrivateContainerdOptions extends ContainerdSettings {
  /** Folder of the containerd binaries, as ensureContainerd returns it. Default: the host's. */
  readonly installation?: string;
  /** Variables of containerd, and so of what it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps running when this process ends. */
  readonly detached?: boolean;
}

export class PrivateContainerd {
  readonly endpoint: string;
  readonly pid: number;
  /** Contains the logs of all starts in this folder. */
  readonly logFile: string;
  readonly #options: PrivateContainerdOptions;
  readonly #child: ChildProcess;

  private constructor(options: PrivateContainerdOptions, child: ChildProcess) {
    this.#options = options;
    this.#child = child;
    this.endpoint = containerdEndpoint(options.folder);
    this.logFile = join(options.folder, 'containerd.log');
    this.pid = child.pid ?? 0;
  }

  /** Starts containerd with the local images, and waits until its CRI is ready. Throws with the end of the log when it does not start. */
  static async start(options: PrivateContainerdOptions): Promise<PrivateContainerd> {
    const { folder } = options;
    const root = join(folder, 'root');
    mkdirSync(root, { recursive: true });
    const archives = buildLocalImageArchives();
    await copyPreparedRoot(root, {
      sources: [binaryOf(options), ...archives.map(({ archive }) => archive)],
      importInto: (empty) => PrivateContainerd.#importInto(empty, options),
    });
    const containerd = await PrivateContainerd.#launch(options, root);
    containerd.#importImages();
    writeFileSync(join(folder, 'containerd.pid'), String(containerd.pid));
    return containerd;
  }

  static async #importInto(root: string, { installation = '' }: PrivateContainerdOptions): Promise<void> {
    const folder = mkdtempSync('/tmp/kr-');
    try {
      const containerd = await PrivateContainerd.#launch({ folder, installation }, root);
      containerd.#importImages();
      await containerd.stop('SIGTERM');
    } finally {
      removeFolder(folder);
    }
  }

  static async #launch(options: PrivateContainerdOptions, root: string): Promise<PrivateContainerd> {
    const { folder, installation = '', detached = false } = options;
    for (const sub of ['state', 'cni']) mkdirSync(join(folder, sub), { recursive: true });
    writeFileSync(join(folder, 'config.toml'), containerdConfigText(root, options));
    writeFileSync(join(folder, 'cni/10-bridge.conflist'), podNetworkText(options));
    const log = openSync(join(folder, 'containerd.log'), 'a');
    const path = `${join(installation, '/usr/bin')}:${process.env.PATH}`;
    const child = spawn(binaryOf(options), ['--config', join(folder, 'config.toml')], {
      stdio: ['ignore', log, log],
      detached,
      env: { ...process.env, ...options.env, PATH: path },
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const containerd = new PrivateContainerd(options, child);
    await containerd.#waitUntilReady();
    if (detached) child.unref();
    return containerd;
  }

  /** Runs `ctr` in the CRI namespace. */
  ctr(...args: string[]): string {
    return execFileSync('ctr', ['--address', join(this.#options.folder, 'c.sock'), '-n', 'k8s.io', ...args], { encoding: 'utf8' });
  }

  /** Removes all pods, ends the daemon and removes its files. */
  destroy(): Promise<void> {
    return destroyPrivateContainerd(this.#options.folder);
  }

  /** Ends only the daemon. Its pods keep running under their shims, and `start` in the same folder finds them. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill(signal);
    await ended;
  }

  async #waitUntilReady(): Promise<void> {
    const client = new CriClient({ endpoint: this.endpoint });
    try {
      for (let attempt = 0; attempt < 300; attempt += 1) {
        if (this.#child.exitCode !== null) break;
        try {
          const { status } = await client.runtime.call('status', {}, { deadlineMs: 2000 });
          // Newer versions report more conditions, which may be false: warnings of deprecations.
          const isTrue = (name: string) => status?.conditions.some((condition) => condition.type === name && condition.status) === true;
          if (isTrue('RuntimeReady') && isTrue('NetworkReady')) return;
        } catch {
          // Not ready yet.
        }
        await sleep(50);
      }
    } finally {
      client.close();
    }
    const log = readFileSync(join(this.#options.folder, 'containerd.log'), 'utf8').split('\n').slice(-15).join('\n');
    throw new Error(`containerd in ${this.#options.folder} does not answer; the end of its log:\n${log}`);
  }

  #importImages(): void {
    const present = this.ctr('images', 'list', '-q').split('\n');
    for (const { archive, name } of buildLocalImageArchives()) {
      if (!present.includes(`${name}:1`)) this.ctr('images', 'import', '--base-name', name, archive);
    }
  }
}

/** Returns the pid of the folder's running containerd. Checks the command line, because pids are reused. */
export function findRunningContainerd(folder: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(folder, 'containerd.pid'), 'utf8'));
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, 'config.toml')) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the pods, ends the daemon, and removes the folder, its mounts and its bridge. Missing parts are skipped. */
export async function destroyPrivateContainerd(folder: string): Promise<void> {
  const pid = findRunningContainerd(folder);
  if (pid !== undefined) {
    await removeAllPods(containerdEndpoint(folder));
    process.kill(pid, 'SIGTERM');
    while (findRunningContainerd(folder) !== undefined) await sleep(20);
  }
  endShims(join(folder, 'c.sock'));
  const bridge = bridgeOf(folder);
  if (bridge !== undefined) execFileSync('ip', ['link', 'delete', bridge], { stdio: 'ignore' });
  removeFolder(folder);
}

/** Kills shims of interrupted starts, which containerd does not know, and their children. */
function endShims(socket: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const [command = '', ...args] = readProcText(`/proc/${pid}/cmdline`).split('\0');
    if (!command.includes('containerd-shim') || !args.includes(socket)) continue;
    for (const each of [...readProcText(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean), pid]) kill(Number(each));
  }
}

/** Returns an empty string when the process has ended. */
function readProcText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}

function bridgeOf(folder: string): string | undefined {
  try {
    const { plugins } = JSON.parse(readFileSync(join(folder, 'cni/10-bridge.conflist'), 'utf8')) as { plugins: { bridge?: string }[] };
    const bridge = plugins[0]?.bridge;
    return bridge !== undefined && hasDevice(bridge) ? bridge : undefined;
  } catch {
    return undefined;
  }
}

/** Uses `ip`, because /sys/class/net shows the network namespace in which /sys was mounted, which may be another one. */
function hasDevice(name: string): boolean {
  return spawnSync('ip', ['link', 'show', 'dev', name], { stdio: 'ignore' }).status === 0;
}

/** Stops and removes every pod of a runtime. Pods that the runtime can not remove are ended with their shims. */
async function removeAllPods(endpoint: string): Promise<void> {
  const client = new CriClient({ endpoint });
  try {
    const { items } = await client.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
    await Promise.all(
      items.map(async ({ id }) => {
        try {
          await client.runtime.call('stopPodSandbox', { podSandboxId: id }, { deadlineMs: 60_000 });
          await client.runtime.call('removePodSandbox', { podSandboxId: id }, { deadlineMs: 60_000 });
        } catch (err) {
          console.error(`sandbox ${id} could not be removed: ${String(err)}`);
        }
      }),
    );
  } finally {
    client.close();
  }
}

function binaryOf({ installation = '' }: Pick<PrivateContainerdOptions, 'installation'>): string {
  return join(installation, '/usr/bin/containerd');
}
