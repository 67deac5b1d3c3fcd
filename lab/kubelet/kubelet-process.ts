/**
 * A kubelet process to measure: the compiled daemon, standalone with its own folder of manifests or as a member of a cluster, or another
 * kubelet with the same arguments. As root it has its own cgroup root; otherwise cgroups are disabled.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reservePort } from '../host/reserve-ports.ts';
import { Agent, request } from 'undici';
import { ensureBuilt } from './build.ts';
import { createCgroup, removeCgroup } from '../host/cgroups.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { removeFolder } from '../containerd/private-containerd.ts';
import { messageOf } from '../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';

/** Another kubelet. */
export interface KubeletProgram {
  readonly executable: string;
  /** Additional fields of KubeletConfiguration. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** The kubelet requires its cgroup root to exist. */
  readonly needsCgroupRoot: boolean;
}

export interface KubeletProcessOptions {
  /** `unix:///…` */
  readonly runtimeEndpoint: string;
  readonly maxPods?: number;
  /** More fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The cluster to join. Absent: standalone. */
  readonly member?: { readonly nodeName: string; readonly kubeconfig: string };
  /** Default: the compiled daemon of this project. */
  readonly program?: KubeletProgram;
  /** The root folder gets a file system of its own, in memory and of this size. */
  readonly rootBytes?: number;
  /** Environment variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../..');
const ownExecutable = join(root, 'bin/kubelet');
const standaloneNodeName = 'bench';
const usesCgroups = process.getuid?.() === 0;
const startTimeoutMs = 30_000;
/** The daemon guarantees to exit within 5 s. */
const stopTimeoutMs = 15_000;

export class KubeletProcess {
  readonly #executable: string;
  readonly #folder: string;
  readonly #args: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #readOnly: string;
  readonly #healthz: string;
  readonly #http = new Agent({ connections: 1, pipelining: 1 });
  #child: ChildProcess;
  #stopped: Promise<void> | undefined;

  private constructor(
    executable: string,
    folder: string,
    { args, environment }: { readonly args: readonly string[]; readonly environment: NodeJS.ProcessEnv },
    ports: { readonly healthz: number; readonly readOnly: number },
  ) {
    this.#executable = executable;
    this.#folder = folder;
    this.#args = args;
    this.#environment = environment;
    this.#readOnly = `http://127.0.0.1:${ports.readOnly}`;
    this.#healthz = `http://127.0.0.1:${ports.healthz}/healthz`;
    this.#child = this.#spawn();
  }

  /** Resolves when /healthz returns ok. Rejects with the end of the log when the kubelet does not become healthy. */
  static async start(options: KubeletProcessOptions): Promise<KubeletProcess> {
    const { member, program } = options;
    if (!program) ensureKubelet();
    const folder = mkdtempSync(join(tmpdir(), 'bench-kubelet-'));
    for (const sub of ['manifests', 'root', 'logs', 'certificates']) mkdirSync(join(folder, sub));
    if (options.rootBytes !== undefined) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.rootBytes},mode=755`, 'tmpfs', join(folder, 'root')]);
    }
    const [healthz, readOnly] = [await reservePort(), await reservePort()];
    writeFileSync(join(folder, 'config.json'), JSON.stringify(configuration(folder, options, healthz, readOnly)));
    if (usesCgroups && program?.needsCgroupRoot) createCgroup(cgroupRootOf(folder));
    const args = [
      `--config=${join(folder, 'config.json')}`,
      `--root-dir=${join(folder, 'root')}`,
      `--cert-dir=${join(folder, 'certificates')}`,
      `--hostname-override=${member?.nodeName ?? standaloneNodeName}`,
      ...(member ? [`--kubeconfig=${member.kubeconfig}`] : []),
    ];
    const environment = { ...process.env, ...options.environment };
    const kubelet = new KubeletProcess(program?.executable ?? ownExecutable, folder, { args, environment }, { healthz, readOnly });
    try {
      await kubelet.waitUntilHealthy();
      await kubelet.#waitUntilServed();
    } catch (err) {
      await kubelet.stop();
      throw err;
    }
    return kubelet;
  }

  /** The URL of /healthz on the healthz port. */
  get healthz(): string {
    return this.#healthz;
  }

  /** The folder of all pods' logs. */
  get podLogs(): string {
    return join(this.#folder, 'logs');
  }

  /** Where the kubelet keeps its checkpoints. */
  get rootFolder(): string {
    return join(this.#folder, 'root');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Ends the process with SIGTERM. Its files and pods remain, for `restart`. */
  async terminate(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /** Called after `terminate`. Does not wait until the kubelet is healthy. */
  restart(): void {
    this.#child = this.#spawn();
  }

  /** Writes a static pod's manifest atomically. */
  writePod(name: string, spec: object): void {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'bench' }, spec };
    const path = join(this.#folder, 'manifests', `${name}.json`);
    const hidden = join(this.#folder, 'manifests', `.${name}.json`);
    writeFileSync(hidden, JSON.stringify(pod));
    renameSync(hidden, path);
  }

  removePod(name: string): void {
    rmSync(join(this.#folder, 'manifests', `${name}.json`));
  }

  /** Returns the pods of the kubelet's `/pods`. */
  async pods(): Promise<readonly Pod[]> {
    const { statusCode, body } = await request(`${this.#readOnly}/pods`, { dispatcher: this.#http });
    if (statusCode !== 200) throw new Error(`/pods answered ${statusCode}: ${await body.text()}`);
    return ((await body.json()) as { items?: Pod[] }).items ?? [];
  }

  metrics(): Promise<string> {
    return this.page('/metrics');
  }

  /** Returns a page of the read-only port. */
  async page(path: string): Promise<string> {
    const { statusCode, body } = await request(`${this.#readOnly}${path}`, { dispatcher: this.#http });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
    return text;
  }

  log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }
  logTail(lines = 20): string {
    return this.log().trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** Returns an error with the end of the kubelet's log. */
  withLog(err: unknown): Error {
    return new Error(`${messageOf(err)}; the kubelet's log ends:\n${this.logTail()}`, { cause: err });
  }

  /**
   * Ends the process with SIGTERM and removes its folder and cgroups. `removePods` runs in between, because cgroups with processes can not
   * be removed. Idempotent.
   */
  stop(removePods: () => Promise<void> = async () => {}): Promise<void> {
    return (this.#stopped ??= this.#stop(removePods));
  }

  async #stop(removePods: () => Promise<void>): Promise<void> {
    await this.terminate();
    await this.#http.close();
    await removePods();
    await this.#removeCgroups();
    removeLogLinks(join(this.#folder, 'logs'));
    // Unmounts volumes in memory, which the kubelet does not unmount at exit.
    removeFolder(this.#folder);
  }

  /** Retries, because the last processes may not be reaped yet. */
  async #removeCgroups(): Promise<void> {
    if (!usesCgroups) return;
    for (let attempt = 0; attempt < 20 && !removeCgroup(cgroupRootOf(this.#folder)); attempt += 1) await sleep(50);
  }

  #spawn(): ChildProcess {
    const log = openSync(join(this.#folder, 'log'), 'a');
    try {
      return spawn(this.#executable, this.#args, { stdio: ['ignore', log, log], env: this.#environment });
    } finally {
      closeSync(log);
    }
  }

  /** The read-only port belongs to another thread than the healthz port. */
  async #waitUntilServed(): Promise<void> {
    const end = performance.now() + startTimeoutMs;
    for (;;) {
      try {
        await this.pods();
        return;
      } catch (err) {
        if (performance.now() > end) throw this.withLog(err);
        await sleep(20);
      }
    }
  }

  /** Resolves when /healthz returns ok. */
  async waitUntilHealthy(): Promise<void> {
    const end = performance.now() + startTimeoutMs;
    while (performance.now() < end) {
      if (this.#child.exitCode !== null) break;
      const ok = await request(this.#healthz, { dispatcher: this.#http })
        .then(async ({ statusCode, body }) => (await body.text(), statusCode === 200))
        .catch(() => false);
      if (ok) return;
      await sleep(20);
    }
    throw new Error(`the kubelet did not become healthy; the end of its log:\n${this.logTail()}`);
  }
}

/** Compiles the daemon from the current sources if necessary. Throws with the compiler's output. */
export function ensureKubelet(): void {
  if (!existsSync(ownExecutable)) throw new Error(`${ownExecutable} is not there`);
  ensureBuilt();
}

/** Uses its own ports and folders, because another kubelet may run on the host. */
function configuration(
  folder: string,
  { runtimeEndpoint, maxPods = 110, config, program }: KubeletProcessOptions,
  healthzPort: number,
  readOnlyPort: number,
): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: runtimeEndpoint,
    staticPodPath: join(folder, 'manifests'),
    podLogsDir: join(folder, 'logs'),
    cgroupDriver: 'cgroupfs',
    ...(usesCgroups ? { cgroupRoot: cgroupRootOf(folder) } : { cgroupsPerQOS: false, enforceNodeAllocatable: [] }),
    failSwapOn: false,
    failCgroupV1: false,
    // The chains would be created in the host's network and never be removed.
    makeIPTablesUtilChains: false,
    enableServer: true,
    address: '127.0.0.1',
    healthzBindAddress: '127.0.0.1',
    healthzPort,
    readOnlyPort,
    maxPods,
    ...program?.configuration,
    ...config,
  };
}

function cgroupRootOf(folder: string): string {
  return `/${basename(folder)}`;
}
