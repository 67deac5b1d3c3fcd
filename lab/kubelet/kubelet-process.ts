/**
 * A kubelet that ends with this process, for benchmarks and for tests on the simulated runtime: the bundle or another kubelet, standalone with its own folder of
 * manifests or as a member of a cluster. As root it has its own cgroup root; otherwise cgroups are disabled.
 */
import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reservePort } from '../host/reserve-ports.ts';
import { Agent, request } from 'undici';
import { ensureBuilt } from './build.ts';
import { createCgroup, removeCgroupWithin } from '../host/cgroups.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { removeFolder } from '../host/remove-folder.ts';
import { messageOf } from '../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { kubeletPath, type KubeletProgram } from './kubelet-program.ts';
import { nodeConfiguration, writeConfiguration } from './node-configuration.ts';
import { kubeletArguments, startKubelet } from './start-kubelet.ts';

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

const standaloneNodeName = 'bench';
const usesCgroups = process.getuid?.() === 0;
const startTimeoutMs = 30_000;
/** The daemon guarantees to exit within 5 s. */
const stopTimeoutMs = 15_000;
const removeTimeoutMs = 1000;

export class KubeletProcess {
  #executable: string;
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
    const config = join(folder, 'kubelet.yaml');
    writeConfiguration(config, configuration(folder, options, healthz, readOnly));
    if (usesCgroups && program?.needsCgroupRoot) createCgroup(cgroupRootOf(folder));
    const nodeFlags = { rootDir: join(folder, 'root'), nodeName: member?.nodeName ?? standaloneNodeName, kubeconfig: member?.kubeconfig };
    const args = [...kubeletArguments({ config, ...nodeFlags }), '--cert-dir', join(folder, 'certificates')];
    const environment = { ...process.env, ...options.environment };
    const kubelet = new KubeletProcess(program?.executable ?? kubeletPath, folder, { args, environment }, { healthz, readOnly });
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

  /**
   * Called after `terminate`. Does not wait until the kubelet is healthy.
   * @param executable another kubelet, which takes over with the same configuration. Default: the one that was started last
   */
  restart(executable: string = this.#executable): void {
    this.#executable = executable;
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
    if (usesCgroups) await removeCgroupWithin(cgroupRootOf(this.#folder), removeTimeoutMs);
    removeLogLinks(join(this.#folder, 'logs'));
    // Unmounts volumes in memory, which the kubelet does not unmount at exit.
    removeFolder(this.#folder);
  }

  #spawn(): ChildProcess {
    return startKubelet({
      executable: this.#executable,
      args: this.#args,
      env: this.#environment,
      logFile: join(this.#folder, 'log'),
    });
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
  if (!existsSync(kubeletPath)) throw new Error(`${kubeletPath} is not there`);
  ensureBuilt();
}

function configuration(
  folder: string,
  { runtimeEndpoint, maxPods = 110, config, program }: KubeletProcessOptions,
  healthzPort: number,
  readOnlyPort: number,
): object {
  return {
    ...nodeConfiguration({
      runtimeEndpoint,
      manifests: join(folder, 'manifests'),
      podLogs: join(folder, 'logs'),
      cgroupRoot: usesCgroups ? cgroupRootOf(folder) : null,
    }),
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
