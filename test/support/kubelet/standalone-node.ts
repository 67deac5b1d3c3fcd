/**
 * A standalone kubelet with all its threads in the test's process, on the simulated runtime and a folder of manifests. Everything is removed
 * at the end of the test. Tests observe `/pods` and the runtime's calls.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { startRuntimeProcess } from '../../../lab/simulated-runtime/client.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { removeLogLinks } from '../../../lab/host/log-links.ts';
import { nodeConfiguration, writeConfiguration } from '../../../lab/kubelet/node-configuration.ts';
import { removeFolder } from '../../../lab/host/remove-folder.ts';
import { LiveConfiguration } from '../../../src/main/config/live-configuration.ts';
import { loadConfiguration } from '../../../src/main/config/load-configuration.ts';
import { toLoggingOptions } from '../../../src/main/config/logging-options.ts';
import { toKubeletFlags } from '../../../src/main/config/flags/apply-flags.ts';
import { startEarlyThreads } from '../../../src/main/wiring/early-threads.ts';
import { runKubelet } from '../../../src/main/kubelet.ts';
import { ensureRootDir } from '../../../src/main/process/root-dir.ts';
import type { KubeletOptions } from '../../../src/main/config/options.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { aLogger } from '../logger.ts';
import { waitUntil, type TestHooks, type SimulatedRuntimeProcess } from '../runtime/simulated-runtime.ts';

export class StandaloneNode {
  readonly runtime: SimulatedRuntimeProcess;
  readonly folder: string;
  readonly manifests: string;
  readonly logs = aLogger();
  #ports = { readOnly: 0, healthz: 0 };
  #running: { readonly stop: AbortController; readonly ended: Promise<void> } | null = null;

  private constructor(runtime: SimulatedRuntimeProcess, folder: string) {
    this.runtime = runtime;
    this.folder = folder;
    this.manifests = join(folder, 'manifests');
    mkdirSync(this.manifests);
  }

  /** Starts the runtime without the kubelet. */
  static async start(t: TestHooks, options: RuntimeOptionsInput = {}): Promise<StandaloneNode> {
    const runtime = await startRuntimeProcess(options);
    const node = new StandaloneNode(runtime, mkdtempSync(join(tmpdir(), 'standalone-')));
    t.after(async () => {
      // Stopped before the runtime, whose end the kubelet would report as an error.
      try {
        await node.stopKubelet();
      } finally {
        await runtime.stop();
      }
      removeLogLinks(join(node.folder, 'logs/pods'));
      // A terminated thread may still have had a file open, so that the kubelet's mount of its root folder stayed.
      removeFolder(node.folder);
    });
    return node;
  }

  /** @param configuration additional fields of KubeletConfiguration */
  async startKubelet(configuration: object = {}): Promise<void> {
    if (this.#ports.readOnly === 0) this.#ports = { readOnly: await reservePort(), healthz: await reservePort() };
    const options = this.#options(configuration);
    const { rootDirectory } = options.flags;
    const rootDir = await ensureRootDir({
      rootDir: rootDirectory,
      podLogsDir: options.config.podLogsDir,
      checkpoints: false,
      logger: this.logs.logger,
    });
    const stop = new AbortController();
    const run = async () => {
      try {
        const { logger } = this.logs;
        await runKubelet({ options, logger, signal: stop.signal, threads: startEarlyThreads(options, logger) });
      } finally {
        await rootDir.release();
      }
    };
    const ended = run();
    ended.catch(() => {});
    this.#running = { stop, ended };
    await waitUntil('the kubelet responds', () =>
      this.pods().then(
        () => true,
        () => false,
      ),
    );
  }

  /** Resolves when the kubelet has stopped. Rejects when it failed. */
  async stopKubelet(): Promise<void> {
    this.#running?.stop.abort(new Error('SIGTERM'));
    await this.#running?.ended;
    this.#running = null;
  }

  /** Writes the manifest atomically. */
  writeManifest(file: string, manifest: object): void {
    const path = join(this.manifests, file);
    writeFileSync(`${this.folder}/${file}`, JSON.stringify(manifest));
    renameSync(`${this.folder}/${file}`, path);
  }

  removeManifest(file: string): void {
    rmSync(join(this.manifests, file));
  }

  async pods(): Promise<Pod[]> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.readOnly}/pods`);
    return ((await response.json()) as { items: Pod[] }).items;
  }

  async pod(name: string): Promise<Pod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-node-1`);
  }

  /** Waits until the pod fulfils the condition. */
  async waitForPod(name: string, what: string, condition: (pod: Pod) => boolean, timeoutMs = 60_000): Promise<Pod> {
    try {
      return await waitUntil(
        `pod ${name} ${what}`,
        async () => {
          const pod = await this.pod(name);
          return pod && condition(pod) ? pod : null;
        },
        timeoutMs,
      );
    } catch (err) {
      const pod = await this.pod(name).catch(() => undefined);
      const warnings = this.logs.lines.filter(({ level }) => level >= 40).slice(-10);
      throw new Error(`${String(err)}; it is ${JSON.stringify(pod?.status)}; log: ${JSON.stringify(warnings)}`, { cause: err });
    }
  }

  #options(configuration: object): KubeletOptions {
    const values = new Map<string, unknown>([
      ['hostname-override', 'node-1'],
      ['root-dir', join(this.folder, 'kubelet')],
    ]);
    const file = join(this.folder, 'kubelet.yaml');
    writeConfiguration(file, { ...this.#configuration(), ...configuration });
    const { config, featureGates } = loadConfiguration({ file, dropInDir: '', decoding: 'strict', applyFlags: (loaded) => loaded });
    const flags = toKubeletFlags(values);
    return {
      flags,
      config,
      featureGates,
      seccompDefault: false,
      logging: { ...toLoggingOptions(config.logging), verbosity: 0 },
      credentialProviders: { providers: [], configHash: null },
      live: new LiveConfiguration(config),
      reloadInputs: null,
    };
  }

  #configuration(): object {
    return {
      ...nodeConfiguration({
        runtimeEndpoint: this.runtime.endpoint,
        manifests: this.manifests,
        podLogs: join(this.folder, 'logs/pods'),
        cgroupRoot: null,
      }),
      address: '127.0.0.1',
      readOnlyPort: this.#ports.readOnly,
      healthzPort: this.#ports.healthz,
    };
  }
}
