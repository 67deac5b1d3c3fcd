/**
 * The kubelet under measurement: the compiled daemon, as its users run it, standalone on a folder of manifests of its own or as a member
 * of a cluster; or another kubelet that takes the same arguments. As root it makes cgroups for its pods, below a root of its own; without,
 * it is told not to.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { build, isBuilt } from '../../scripts/build.ts';
import { makeCgroup, removeCgroup } from '../../scripts/host/cgroups.ts';
import { removeLogLinks } from '../../scripts/host/log-links.ts';
import { removeFolder } from '../../scripts/host/private-containerd.ts';
import { messageOf } from '../../src/shared/errors/kubelet-error.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';

/** A kubelet other than this one. */
export interface KubeletProgram {
  readonly executable: string;
  /** What it needs in KubeletConfiguration beside what every kubelet is given. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** It wants the root of its cgroups to be there. */
  readonly needsCgroupRoot: boolean;
}

export interface KubeletProcessOptions {
  /** `unix:///…` */
  readonly runtimeEndpoint: string;
  readonly maxPods?: number;
  /** More fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The cluster that it joins; without, it is standalone. */
  readonly member?: { readonly nodeName: string; readonly kubeconfig: string };
  /** Without, the compiled daemon of this project. */
  readonly program?: KubeletProgram;
  /** Variables beside those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../..');
const ownExecutable = join(root, 'bin/kubelet');
const standaloneNodeName = 'bench';
const usesCgroups = process.getuid?.() === 0;
const startTimeoutMs = 30_000;
/** The daemon promises 5 s for its own end. */
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

  /** Resolves once /healthz says ok. Rejects with the end of its log when it does not come up, or is not built. */
  static async start(options: KubeletProcessOptions): Promise<KubeletProcess> {
    const { member, program } = options;
    if (!program) ensureKubelet();
    const folder = mkdtempSync(join(tmpdir(), 'bench-kubelet-'));
    for (const sub of ['manifests', 'root', 'logs', 'certificates']) mkdirSync(join(folder, sub));
    const [healthz, readOnly] = [await freePort(), await freePort()];
    writeFileSync(join(folder, 'config.json'), JSON.stringify(configuration(folder, options, healthz, readOnly)));
    if (usesCgroups && program?.needsCgroupRoot) makeCgroup(cgroupRootOf(folder));
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
      await kubelet.#served();
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

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Ends it as systemd would. What it has on disk stays, and its pods run on: `startAgain` finds both. */
  async terminate(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
    await ended;
    clearTimeout(timer);
  }

  /** After `end`. Does not wait until it is healthy. */
  restart(): void {
    this.#child = this.#spawn();
  }

  /** A pod of one container (or more), on the host's files and network only as far as every pod is. Atomic: the kubelet sees all of it or nothing. */
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

  /** What the kubelet itself says about its pods. */
  async pods(): Promise<readonly Pod[]> {
    const { statusCode, body } = await request(`${this.#readOnly}/pods`, { dispatcher: this.#http });
    if (statusCode !== 200) throw new Error(`/pods answered ${statusCode}: ${await body.text()}`);
    return ((await body.json()) as { items?: Pod[] }).items ?? [];
  }

  async metrics(): Promise<string> {
    const { body } = await request(`${this.#readOnly}/metrics`, { dispatcher: this.#http });
    return body.text();
  }

  log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }
  logTail(lines = 20): string {
    return this.log().trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** The error of one who has waited for this kubelet, with the end of its log. */
  withLog(err: unknown): Error {
    return new Error(`${messageOf(err)}; the kubelet's log ends:\n${this.logTail()}`, { cause: err });
  }

  /**
   * Ends it as systemd would, and removes its folder and its cgroups. Pods with real processes hold their cgroups: `removePods` ends
   * them in between. Idempotent.
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
    // Volumes in memory are mounts, which a kubelet that ends leaves as they are.
    removeFolder(this.#folder);
  }

  /** The last processes may take a moment to be reaped. */
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

  /** The read-only port is another thread's than the healthz port. */
  async #served(): Promise<void> {
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

  /** Resolves once /healthz says ok. */
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

/** Before anything is measured: the daemon, compiled from the sources as they are. Throws with the compiler's word. */
export function ensureKubelet(): void {
  if (!existsSync(ownExecutable)) throw new Error(`${ownExecutable} is not there`);
  if (!isBuilt()) build();
}

/** No swap check, no ports but its own: it must not meet another kubelet on the host. */
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

/** Free a moment ago: nobody else on this machine asks in a row. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

function cgroupRootOf(folder: string): string {
  return `/${basename(folder)}`;
}
