/** The shipped kubelet with an API server and a simulated runtime, to which a test applies operations. It records the pods' history. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import type { PodStatus } from '../../../src/shared/kubernetes/api.ts';
import { OpenApiServer } from '../fuzz/open-api-server.ts';
import { RunningKubelet } from '../kubelet/kubelet-command.ts';
import { prepareKubelet, waitUntilHealthy, type PreparedKubelet } from '../kubelet/prepared-kubelet.ts';
import { waitUntil, type TestHooks } from '../runtime/simulated-runtime.ts';
import type { Operation } from './operations.ts';
import { mergeHistories, type PodHistoryEntry } from './pod-history.ts';
import { otherImage, podImages, shapedPod } from './pod-shapes.ts';

type StoredPod = Record<string, unknown> & {
  readonly metadata: { readonly generation?: number };
  readonly spec: { readonly containers: readonly object[] };
};

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** The longest grace period, back-offs of failed calls, and the time of a busy host. */
const endTimeoutMs = 120_000;

export class DrivenNode {
  readonly #api: OpenApiServer;
  readonly #prepared: PreparedKubelet;
  readonly #entries: PodHistoryEntry[] = [];
  /** The UID of each name's newest pod. */
  readonly #uids = new Map<number, string>();
  #kubelet: RunningKubelet | null = null;
  #created = 0;
  #unexpectedEnd: string | null = null;

  private constructor(api: OpenApiServer, prepared: PreparedKubelet) {
    this.#api = api;
    this.#prepared = prepared;
    api.onPodWrite = (podUID, status) => {
      const atMs = systemClock.monotonic();
      this.#entries.push(
        status
          ? { source: 'api', type: 'status', atMs, podUID, status: structuredClone(status) as PodStatus }
          : { source: 'api', type: 'finished', atMs, podUID },
      );
    };
  }

  static async start(t: TestHooks, options: RuntimeOptionsInput): Promise<DrivenNode> {
    const prepared = await prepareKubelet(
      t,
      {
        address: '127.0.0.1',
        port: await reservePort(),
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
      },
      { ...options, images: podImages.map((name) => ({ name })) },
    );
    mkdirSync(join(prepared.folder, 'cwd'));
    const node = new DrivenNode(await OpenApiServer.start(t, prepared.folder), prepared);
    await node.#startKubelet();
    return node;
  }

  async apply(operation: Operation): Promise<void> {
    const { control } = this.#prepared.runtime;
    switch (operation.type) {
      case 'create':
        return this.#create(operation);
      case 'delete':
        return this.#delete(operation.slot, operation.graceSeconds);
      case 'deleteByForce':
        return this.#delete(operation.slot, 0);
      case 'changeImage':
        return this.#update(operation.slot, (pod) => {
          const [first, ...others] = pod.spec.containers;
          return { ...pod, spec: { ...pod.spec, containers: [{ ...first, image: otherImage }, ...others] } };
        });
      case 'changeLabel':
        return this.#update(operation.slot, (pod) => {
          const labels = { changed: String(Date.now()) };
          return { ...pod, metadata: { ...pod.metadata, labels } };
        });
      case 'probes':
        return control.execResult(`pod-${operation.slot}`, { exitCode: operation.exitCode });
      case 'fault':
        return void (await control.fault({ ...operation, delayMs: 500 }));
      case 'loseEvents':
        return control.eventFaults({ lose: operation.share });
      case 'runtimeDown':
        await control.closeSocket();
        await sleep(operation.ms);
        return control.openSocket();
      case 'restartKubelet':
        await this.#endKubelet(operation.signal);
        return this.#startKubelet();
      case 'wait':
        return void (await sleep(operation.ms));
      case 'exit':
      case 'lose':
      case 'remove':
      case 'exitSandbox':
      case 'removeSandbox':
        return this.#applyToRuntime(operation);
      default:
        operation satisfies never;
    }
  }

  /** Ends all faults, deletes every pod and waits until nothing of them is left in the API, the runtime and the file system. */
  async removeEverything(): Promise<void> {
    const { control } = this.#prepared.runtime;
    await control.clearFaults();
    await control.eventFaults({});
    for (const slot of this.#uids.keys()) this.#delete(slot, 1);
    let left: readonly string[] = [];
    await waitUntil(
      () => `nothing is left of ${left.join(', ')}; the log ends:\n${this.log().slice(-4000)}`,
      async () => {
        if (this.#unexpectedEnd !== null) throw new Error(`the kubelet has ended: ${this.#unexpectedEnd}\n${this.log().slice(-4000)}`);
        return (left = await this.#remains()).length === 0;
      },
      endTimeoutMs,
    );
  }

  async history(): Promise<readonly PodHistoryEntry[]> {
    const entries = await this.#prepared.runtime.control.history();
    return mergeHistories(
      this.#entries,
      entries.map((entry) => ({ ...entry, source: 'runtime' as const })),
    );
  }

  log(): string {
    return this.#kubelet?.stderr ?? '';
  }

  /** Returns the exit code. */
  async stop(): Promise<number | null> {
    return this.#endKubelet('SIGTERM');
  }

  async #endKubelet(signal: NodeJS.Signals): Promise<number | null> {
    const kubelet = this.#kubelet;
    this.#kubelet = null;
    kubelet?.kill(signal);
    return (await kubelet?.ended)?.code ?? null;
  }

  async #startKubelet(): Promise<void> {
    const { args, folder } = this.#prepared;
    this.#entries.push({ source: 'kubelet', type: 'launched', atMs: systemClock.monotonic() });
    const nodeArgs = ['--kubeconfig', this.#api.kubeconfig, '--hostname-override', 'node-1'];
    const kubelet = new RunningKubelet([...args, ...nodeArgs], { cwd: join(folder, 'cwd') });
    this.#kubelet = kubelet;
    void this.#watchEnd(kubelet);
    await waitUntilHealthy(this.#prepared).catch((err: unknown) => {
      throw new Error(`${String(err)} (${this.#unexpectedEnd}); its log:\n${kubelet.stderr.slice(-3000)}`, { cause: err });
    });
  }

  async #watchEnd(kubelet: RunningKubelet): Promise<void> {
    const { code } = await kubelet.ended;
    if (this.#kubelet === kubelet) this.#unexpectedEnd = `exit code ${code}`;
  }

  #create({ slot, shape, policy, graceSeconds }: Operation & { type: 'create' }): void {
    const before = this.#uids.get(slot);
    if (before !== undefined && this.#api.pod(before)) return;
    this.#created += 1;
    const uid = `uid-${this.#created}`;
    this.#uids.set(slot, uid);
    this.#api.put(shapedPod(shape, { name: `pod-${slot}`, uid, policy, graceSeconds }));
  }

  #delete(slot: number, graceSeconds: number): void {
    const uid = this.#uids.get(slot);
    const pod = uid === undefined ? undefined : this.#api.pod(uid);
    if (uid === undefined || !pod) return;
    this.#entries.push({ source: 'api', type: 'deleted', atMs: systemClock.monotonic(), podUID: uid, graceSeconds });
    if (graceSeconds === 0) this.#api.remove(uid);
    else this.#api.delete(uid, graceSeconds);
  }

  #update(slot: number, change: (pod: StoredPod) => object): void {
    const uid = this.#uids.get(slot);
    const pod = uid === undefined ? undefined : (this.#api.pod(uid) as StoredPod | undefined);
    if (!pod) return;
    const generation = (pod.metadata.generation ?? 0) + 1;
    this.#api.put(change({ ...pod, metadata: { ...pod.metadata, generation } }) as Record<string, unknown>);
  }

  /** Does nothing when there is nothing to choose from. */
  async #applyToRuntime(operation: Extract<Operation, { pick: number }>): Promise<void> {
    const { control } = this.#prepared.runtime;
    const { containers, sandboxes } = await control.state();
    const running = containers.filter(({ state }) => state === 'running');
    const container = running[operation.pick % running.length];
    const sandbox = sandboxes[operation.pick % sandboxes.length];
    // What was chosen may be gone by now.
    const ignoreMissing = (work: Promise<unknown> | undefined) => work?.then(ignore, ignore);
    switch (operation.type) {
      case 'exit':
        return ignoreMissing(container && control.exitContainer(container.id, operation.exitCode));
      case 'lose':
        return ignoreMissing(container && control.loseContainer(container.id));
      case 'remove':
        return ignoreMissing(container && control.removeContainer(container.id));
      case 'exitSandbox':
        return ignoreMissing(sandbox && control.exitSandbox(sandbox.id));
      case 'removeSandbox':
        return ignoreMissing(sandbox && control.removeSandbox(sandbox.id));
      default:
        operation satisfies never;
    }
  }

  async #remains(): Promise<readonly string[]> {
    const { runtime, folder } = this.#prepared;
    const { containers, sandboxes } = await runtime.control.state();
    const podsFolder = join(folder, 'root/pods');
    return [
      ...[...this.#uids.values()].filter((uid) => this.#api.pod(uid)).map((uid) => `API object ${uid}`),
      ...containers.map(({ podUID, name, state }) => `container ${podUID}/${name} (${state})`),
      ...sandboxes.map(({ podUID }) => `sandbox of ${podUID}`),
      ...(existsSync(podsFolder) ? readdirSync(podsFolder).map((name) => `folder of ${name}`) : []),
    ];
  }
}

function ignore(): void {}
