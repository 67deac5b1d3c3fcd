/**
 * A separate containerd with its root, state, socket and networks in one folder. It shares nothing with other instances on the host. Used by
 * `npm run up`, `npm run cluster`, the end-to-end tests and the benchmarks.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient } from '../../src/shared/cri/client.ts';
import { buildLocalImageArchives, pauseImage } from './local-images.ts';
import { copyPreparedRoot } from './prepared-root.ts';

export interface PrivateContainerdOptions {
  /** Contains all files. Must be short: a socket's path is limited to 108 bytes. */
  readonly folder: string;
  /** The pods' /16 network, unique on the host: `10.87` means 10.87.0.0/16. */
  readonly network?: string;
  /** Pods reach networks outside of the host. Default: true. Each pod then has rules in the packet filter. */
  readonly masquerade?: boolean;
  /** Folder of the containerd binaries, as ensureContainerd returns it. Default: the host's. */
  readonly installation?: string;
  /** Ends a pull without progress after this time, for example `8s`. Default: containerd's. */
  readonly imagePullProgressTimeout?: string;
  /** Containers get limits of huge pages, which containerd leaves out by default. */
  readonly hugePageLimits?: boolean;
  /** The program that starts containers. Default: the runc of PATH. */
  readonly runc?: string;
  /** More runtime handlers: the program that containerd calls as runc, by name. */
  readonly handlers?: Readonly<Record<string, string>>;
  /** Variables of containerd, and so of what it starts. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps running when this process ends. */
  readonly detached?: boolean;
}

/** A second runtime handler, for RuntimeClass tests. */
export const secondRuntimeHandler = 'second';

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
    writeFileSync(join(folder, 'config.toml'), configText(folder, root, options));
    writeFileSync(join(folder, 'cni/10-bridge.conflist'), networkText(options));
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

export function containerdEndpoint(folder: string): string {
  return `unix://${join(folder, 'c.sock')}`;
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

/** Unmounts what is mounted below a folder, deepest first, and removes the folder. */
export function removeFolder(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.filter((point) => point.startsWith(`${folder}/`)).reverse()) {
    execFileSync('umount', ['-l', mount]);
  }
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
}

/** Contains a folder with a `hosts.toml` for each registry that containerd does not reach by its name. */
export function registriesFolder(folder: string): string {
  return join(folder, 'certs.d');
}

function binaryOf({ installation = '' }: Pick<PrivateContainerdOptions, 'installation'>): string {
  return join(installation, '/usr/bin/containerd');
}

function configText(
  folder: string,
  root: string,
  {
    imagePullProgressTimeout: progressTimeout,
    hugePageLimits = false,
    runc,
    handlers = {},
  }: Pick<PrivateContainerdOptions, 'imagePullProgressTimeout' | 'hugePageLimits' | 'runc' | 'handlers'>,
): string {
  return `version = 2
root = "${root}"
state = "${folder}/state"
[grpc]
  address = "${folder}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # without CAP_SYS_RESOURCE no sandbox would start
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  disable_hugetlb_controller = ${!hugePageLimits}
${progressTimeout === undefined ? '' : `  image_pull_progress_timeout = "${progressTimeout}"\n`}  # read at each pull: hosts.toml of registries
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${registriesFolder(folder)}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
${runc === undefined ? '' : `    options = { BinaryName = "${runc}" }\n`}  # the same under another name: what a RuntimeClass chooses
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${secondRuntimeHandler}]
    runtime_type = "io.containerd.runc.v2"
${Object.entries(handlers).map(handlerText).join('')}  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
`;
}

function handlerText([name, program]: [string, string]): string {
  return `  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}]
    runtime_type = "io.containerd.runc.v2"
    options = { BinaryName = "${program}" }
`;
}

/** The bridge is named after the network, so that the names of two instances differ. */
function networkText({ folder, network = '10.87', masquerade = true }: PrivateContainerdOptions): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: `kl${network.replace('.', '-')}`,
        isGateway: true,
        ipMasq: masquerade,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${folder}/ipam`,
          ranges: [[{ subnet: `${network}.0.0/16` }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}
