/**
 * A node for end-to-end tests: a private containerd and the compiled kubelet with a folder of manifests, all in one folder that is removed at
 * the end of the test. Tests observe `/pods`, the runtime's CRI, cgroups, mounts and files.
 */
import { execFileSync, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { stringify } from 'yaml';
import { ensureBuilt } from '../../../lab/kubelet/build.ts';
import type { KubeletProgram } from '../../../lab/kubelet/kubelet-program.ts';
import { noEvictions, nodeConfiguration, noImageRemovals, writeConfiguration } from '../../../lab/kubelet/node-configuration.ts';
import { kubeletArguments, startKubelet } from '../../../lab/kubelet/start-kubelet.ts';
import { ensureContainerd, type ContainerdVersion } from '../../../lab/containerd/installations/installations.ts';
import { destroyPrivateContainerd, PrivateContainerd, type PrivateContainerdOptions } from '../../../lab/containerd/private-containerd.ts';
import { removeFolder } from '../../../lab/host/remove-folder.ts';
import { removeCgroup } from '../../../lab/host/cgroups.ts';
import { removeLogLinks } from '../../../lab/host/log-links.ts';
import { CriClient } from '../../../src/shared/cri/client.ts';
import type { Container, Pod, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { canConnect } from './can-connect.ts';
import { kubeletEnvironment } from './kubelet-environment.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';

export const busybox = 'local.example/busybox:1';

export interface TestNodeOptions {
  /**
   * Default 1.7. It has the event stream, 1.6 does not. 2.1 has user namespaces, image volumes and recursive read-only mounts; 2.3 has subPath of
   * image volumes and stop signals.
   */
  readonly containerd?: ContainerdVersion;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Additional flags of the kubelet. */
  readonly flags?: readonly string[];
  /** Additional environment variables of the kubelet. Modules that a test preloads may write to TEST_NODE_FOLDER. */
  readonly env?: Readonly<Record<string, string>>;
  /** Puts the pod logs on a tmpfs of this size. */
  readonly podLogsBytes?: number;
  /** Default: containerd's own, of minutes. */
  readonly imagePullProgressTimeout?: string;
  /** See PrivateContainerdOptions. */
  readonly hugePageLimits?: boolean;
  /** Host ports of pods work. Default: false, which spares each pod some ten calls of iptables. */
  readonly hostPorts?: boolean;
  /** A shell script that containerd runs as runc. It is in the node's folder, as `runc`. */
  readonly runcScript?: string;
  /** Handlers of runtime classes, see PrivateContainerdOptions. lab/oci-runtimes/ has some. */
  readonly handlers?: PrivateContainerdOptions['handlers'];
  /** Variables of containerd. */
  readonly containerdEnv?: PrivateContainerdOptions['env'];
  /** Puts containerd's images and containers on a tmpfs of this size. */
  readonly imageFilesystemBytes?: number;
}

/** A pod manifest with one busybox container, `app`, that runs until it is stopped. */
export function aManifest(name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [aBusybox()], terminationGracePeriodSeconds: 2, ...spec },
  };
}

/** The default command runs until SIGTERM and then exits immediately. */
export function aBusybox(fields: Partial<Container> & { readonly sh?: string } = {}): Container {
  const { sh = 'trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done', ...rest } = fields;
  return { name: 'app', image: busybox, command: ['sh', '-c', sh], ...rest };
}

let networks = 0;

function mountTmpfs(folder: string, bytes: number): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
}

export class TestNode {
  readonly folder: string;
  readonly manifests: string;
  readonly cgroupRoot: string;
  readonly podLogs: string;
  readonly rootDir: string;
  readonly nodeName = 'test-node';
  readonly #options: TestNodeOptions;
  readonly #network: string;
  #containerd: PrivateContainerd | undefined;
  #cri: CriClient | undefined;
  #kubelet: ChildProcess | undefined;
  #ports: { readonly readOnly: number; readonly healthz: number } | undefined;

  private constructor(options: TestNodeOptions) {
    this.#options = options;
    this.folder = mkdtempSync('/tmp/kn-');
    this.manifests = join(this.folder, 'manifests');
    this.podLogs = join(this.folder, 'logs');
    this.rootDir = join(this.folder, 'kubelet');
    this.cgroupRoot = `/${this.folder.slice('/tmp/'.length)}`;
    this.#network = `10.${100 + ((process.pid + networks++) % 100)}`;
    // The root of a user namespace must reach its container's root file system.
    chmodSync(this.folder, 0o711);
    for (const folder of [this.manifests, this.podLogs]) mkdirSync(folder);
    const { podLogsBytes, imageFilesystemBytes } = options;
    if (podLogsBytes !== undefined) mountTmpfs(this.podLogs, podLogsBytes);
    if (imageFilesystemBytes !== undefined) mountTmpfs(this.imageFilesystem, imageFilesystemBytes);
  }

  /** Starts the runtime without the kubelet. Everything is removed at the end of the test `t`; without `t` the caller must call `destroy`. */
  static async start(t: TestHooks | null, options: TestNodeOptions = {}): Promise<TestNode> {
    ensureBuilt();
    const node = new TestNode(options);
    t?.after(() => node.destroy());
    await node.startContainerd();
    return node;
  }

  /** Containerd's root. Removed with containerd's folder, including its mounts. */
  get imageFilesystem(): string {
    return join(this.folder, 'containerd/root');
  }
  get cri(): CriClient {
    if (!this.#cri) throw new Error('the node has no runtime');
    return this.#cri;
  }
  get containerd(): PrivateContainerd {
    if (!this.#containerd) throw new Error('the node has no runtime');
    return this.#containerd;
  }

  async startContainerd(): Promise<void> {
    const {
      containerd: version = '1.7',
      imagePullProgressTimeout,
      hugePageLimits = false,
      hostPorts = false,
      runcScript,
      handlers,
      containerdEnv,
    } = this.#options;
    const runc = join(this.folder, 'runc');
    if (runcScript !== undefined) writeFileSync(runc, runcScript, { mode: 0o755 });
    this.#containerd = await PrivateContainerd.start({
      folder: join(this.folder, 'containerd'),
      network: this.#network,
      masquerade: false,
      hostPorts,
      installation: ensureContainerd(version),
      hugePageLimits,
      ...(imagePullProgressTimeout !== undefined && { imagePullProgressTimeout }),
      ...(runcScript !== undefined && { runc }),
      ...(handlers && { handlers }),
      ...(containerdEnv && { env: containerdEnv }),
    });
    this.#cri ??= new CriClient({ endpoint: this.#containerd.endpoint });
  }

  /**
   * Starts the kubelet, or another one with the same files and ports, and waits until it is healthy.
   * @param program its fields of KubeletConfiguration replace the node's
   */
  async startKubelet({
    executable,
    configuration = {},
    env = {},
  }: Partial<KubeletProgram> & { readonly env?: NodeJS.ProcessEnv } = {}): Promise<void> {
    // A restarted kubelet uses the same ports.
    this.#ports ??= { readOnly: await reservePort(), healthz: await reservePort() };
    const config = join(this.folder, 'kubelet.yaml');
    writeConfiguration(config, { ...this.#configuration(), ...configuration });
    const { rootDir, nodeName } = this;
    this.#kubelet = startKubelet({
      executable,
      args: [...kubeletArguments({ config, rootDir, nodeName }), '-v=4', ...(this.#options.flags ?? [])],
      env: kubeletEnvironment({ TEST_NODE_FOLDER: this.folder, ...this.#options.env, ...env }),
      logFile: join(this.folder, 'kubelet.log'),
    });
    // The ports belong to different threads.
    await waitUntil('the kubelet is healthy', async () => (await this.#isHealthy()) && (await this.#serves()), 30_000);
  }

  /** A cluster member may have no read-only port. */
  #isHealthy(): Promise<boolean> {
    return Promise.all([this.healthz(), ...(this.#options.config?.['readOnlyPort'] === 0 ? [] : [this.get('/healthz')])])
      .then((answers) => answers.every(({ status }) => status === 200))
      .catch(() => this.#assertRunning());
  }

  /** True also for a node outside of a cluster, which has no authenticated server. The Node of a restarted kubelet may still be Ready. */
  async #serves(): Promise<boolean> {
    const port = this.#options.config?.['port'];
    return typeof port !== 'number' || port === 0 || (await canConnect(port));
  }

  #assertRunning(): false {
    if (this.#kubelet?.exitCode !== null) throw new Error(`the kubelet ended with ${this.#kubelet?.exitCode}: ${this.log().slice(-2000)}`);
    return false;
  }

  #configuration(): object {
    const { manifests, podLogs, cgroupRoot } = this;
    return {
      ...nodeConfiguration({ runtimeEndpoint: this.containerd.endpoint, manifests, podLogs, cgroupRoot }),
      // Most nodes are in the network namespace of a lane, which ends with it.
      makeIPTablesUtilChains: true,
      registerNode: false,
      address: '127.0.0.1',
      readOnlyPort: this.#ports?.readOnly,
      healthzPort: this.#ports?.healthz,
      ...noImageRemovals,
      ...noEvictions,
      ...this.#options.config,
    };
  }

  get kubeletPid(): number {
    return this.#kubelet?.pid ?? 0;
  }
  log(): string {
    return readFileSync(join(this.folder, 'kubelet.log'), 'utf8');
  }

  /** Resolves with the exit code or the signal's name. */
  async stopKubelet(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | string | null> {
    const kubelet = this.#kubelet;
    if (!kubelet || kubelet.exitCode !== null || kubelet.signalCode !== null) return kubelet?.exitCode ?? null;
    const ended = new Promise<number | string | null>((resolve) => kubelet.once('exit', (code, by) => resolve(code ?? by)));
    kubelet.kill(signal);
    return ended;
  }

  /** Writes the manifest atomically. */
  apply(manifest: object): void {
    const name = (manifest as Pod).metadata.name;
    const hidden = join(this.manifests, `.${name}.yaml`);
    writeFileSync(hidden, stringify(manifest));
    renameSync(hidden, join(this.manifests, `${name}.yaml`));
  }
  delete(name: string): void {
    rmSync(join(this.manifests, `${name}.yaml`));
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#ports?.readOnly}${path}`, { headers, signal: AbortSignal.timeout(5000) });
  }
  async healthz(path = '/healthz'): Promise<Response> {
    return fetch(this.healthzURL.replace(/\/healthz$/, path), { signal: AbortSignal.timeout(5000) });
  }
  get healthzURL(): string {
    return `http://127.0.0.1:${this.#ports?.healthz}/healthz`;
  }
  async pods(): Promise<readonly Pod[]> {
    return ((await (await this.get('/pods')).json()) as { items: readonly Pod[] | null }).items ?? [];
  }

  /** Waits until the manifest's static pod fulfils the condition. Rejects with its last status after the timeout. */
  async until(name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = 60_000): Promise<Pod> {
    let last: Pod | undefined;
    try {
      return await waitUntil(
        `pod ${name} ${what}`,
        async () => {
          last = (await this.pods().catch(() => [])).find(({ metadata }) => metadata.name === `${name}-${this.nodeName}`);
          return last && condition(last) ? last : undefined;
        },
        timeoutMs,
      );
    } catch (err) {
      throw new Error(`${String(err)}; it was ${JSON.stringify(last?.status)}\n${this.log().split('\n').slice(-30).join('\n')}`, {
        cause: err,
      });
    }
  }
  untilRunning(name: string): Promise<Pod> {
    return this.until(
      name,
      'is running and ready',
      ({ status }) => status?.phase === 'Running' && (status.containerStatuses ?? []).every(({ ready }) => ready),
    );
  }
  /** Waits until neither the kubelet nor the runtime has the pod. */
  async untilGone(name: string, timeoutMs = 60_000): Promise<void> {
    const podName = `${name}-${this.nodeName}`;
    await waitUntil(
      `pod ${name} is gone`,
      async () => {
        if ((await this.pods()).some(({ metadata }) => metadata.name === podName)) return false;
        const { items } = await this.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 5000 });
        return !items.some(({ metadata }) => metadata?.name === podName);
      },
      timeoutMs,
    );
  }

  /** Returns the content of a container's log without the CRI headers. */
  logsOf(pod: Pod, container: string, restart = 0): string {
    const { namespace, name, uid } = pod.metadata;
    const file = join(this.podLogs, `${namespace}_${name}_${uid}`, container, `${restart}.log`);
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ').slice(3).join(' '))
      .join('\n');
  }

  async destroy(): Promise<void> {
    await this.stopKubelet('SIGKILL');
    this.#cri?.close();
    await destroyPrivateContainerd(join(this.folder, 'containerd'));
    removeLogLinks(this.podLogs);
    if (this.#options.podLogsBytes !== undefined) execFileSync('umount', [this.podLogs]);
    removeFolder(this.folder);
    await waitUntil('the cgroups are gone', () => removeCgroup(this.cgroupRoot), 10_000);
  }
}
