/** A node in one thread, with a clock of its own: kubelets that come and go, a runtime, an API server and a folder of manifests. Records the pods' history. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import type { PodDisturbance, PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { mergeHistories } from '../pod-histories/pod-history.ts';
import { otherImage, shapedPod } from '../pod-histories/pod-shapes.ts';
import { Life, ModelClock } from './model-clock.ts';
import { ModelApi } from './model-api.ts';
import { ModelEvents } from './model-events.ts';
import type { ModelHost } from './model-host.ts';
import { ModelKubelet } from './model-kubelet.ts';
import { apiSlots, type ModelOperation } from './model-operations.ts';
import { ModelRuntime, type ModelContainer } from './model-runtime.ts';
import { RuntimeCalls } from './runtime-calls.ts';

/** More than the longest deadline of a call that hangs, RunPodSandbox, and than the longest back-off of a container with a resync. */
const settleMs = 250_000;

export class ModelNode {
  readonly clock = new ModelClock();
  readonly api = new ModelApi(this.clock);
  readonly runtime = new ModelRuntime(this.clock);
  readonly #calls = new RuntimeCalls(this.runtime, this.clock);
  readonly #folder = mkdtempSync(join(tmpdir(), 'model-node-'));
  readonly #events: ModelEvents;
  readonly #entries: PodHistoryEntry[] = [];
  /** By slot. */
  readonly staticPods = new Map<number, Pod>();
  readonly #failing = new Map<string, string | null>();
  /** Every container that ever was, by its ID. */
  readonly #containerIDs: { readonly podUID: string; readonly id: string }[] = [];
  readonly #host: ModelHost;
  #kubelet: ModelKubelet | null = null;
  #created = 0;

  constructor({ useEvents }: { readonly useEvents: boolean }) {
    this.#events = new ModelEvents();
    this.runtime.onChange = (uid) => this.#events.send(uid);
    this.#calls.execResult = (uid) => (this.#failing.get(uid) === 'hooks' ? 1 : 0);
    this.api.onStatus = (podUID, status) => this.#add({ source: 'api', type: 'status', atMs: this.#now(), podUID, status });
    this.api.onRemoved = (podUID) => this.#add({ source: 'api', type: 'finished', atMs: this.#now(), podUID });
    this.api.onWatch = (pods) => this.#kubelet?.config.set('api', pods);
    const admitted = new Set<string>();
    this.#host = {
      clock: this.clock,
      runtime: this.runtime,
      calls: this.#calls,
      folder: this.#folder,
      admitted,
      client: (life: Life) => this.api.client(life),
      apiPod: this.api.pods.apiPod,
      outcome: (uid, _, probe) => (this.#failing.get(uid) === probe ? 'failure' : 'success'),
      onProbeResult: ({ podUID, containerID, probe, result }) => {
        if (result === 'failure') this.#disturb(probe === 'readiness' ? 'probeUnready' : 'probeFailed', podUID, { containerID });
      },
      onEvent: ({ reason, podUID }) => {
        if (reason === 'FailedPostStartHook') this.#disturb('callFailed', podUID);
      },
      events: useEvents ? (signal) => this.#events.stream(signal) : null,
    };
    this.#start();
  }

  [Symbol.dispose](): void {
    this.#kubelet?.die();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get history(): readonly PodHistoryEntry[] {
    return mergeHistories(
      this.#entries,
      this.runtime.history.map((entry) => ({ ...entry, source: 'runtime' as const })),
    );
  }

  async apply(operation: ModelOperation): Promise<void> {
    this.#apply(operation);
    if (operation.type === 'restartKubelet') await this.#restart(operation.signal, operation.downMs);
    else if (operation.type === 'runtimeDown') await this.#runtimeDown(operation.ms);
    else await this.clock.advance(operation.type === 'wait' ? operation.ms : 0);
  }

  /** Ends all faults, and waits until nothing more happens. */
  async settle(): Promise<void> {
    this.#calls.faults.clear();
    this.api.fault = null;
    this.#failing.clear();
    this.#events.isLosing = false;
    await this.clock.advance(settleMs);
  }

  /** Deletes every pod, and returns what is left. */
  async removeEverything(): Promise<readonly string[]> {
    for (const pod of this.api.pods.pods.values()) this.#delete(pod.metadata.name, 1);
    this.staticPods.clear();
    this.#kubelet?.config.set('file', []);
    await this.clock.advance(settleMs);
    return [
      ...[...this.api.pods.pods.values()].map(({ metadata }) => `API object ${metadata.uid}`),
      ...[...this.runtime.containers.values()].map(({ sandbox, name, state }) => `container ${sandbox.podUID}/${name} (${state})`),
      ...[...this.runtime.sandboxes.values()].map(({ podUID, ready }) => `sandbox of ${podUID} (${ready ? 'ready' : 'not ready'})`),
      ...(this.#kubelet?.workers.uids() ?? []).map((uid) => `worker of ${uid}`),
    ];
  }

  #now(): number {
    return this.clock.monotonic();
  }

  #add(entry: PodHistoryEntry): void {
    this.#entries.push(entry);
  }

  #disturb(type: PodDisturbance['type'], podUID: string, more: { container?: string; containerID?: string } = {}): void {
    this.#add({ source: 'test', type, atMs: this.#now(), podUID, ...more });
  }

  #start(): void {
    this.#add({ source: 'kubelet', type: 'launched', atMs: this.#now() });
    this.#kubelet = new ModelKubelet(this.#host, ['file', 'api']);
    this.#kubelet.config.set('file', structuredClone([...this.staticPods.values()]));
    this.api.changed();
  }

  async #restart(signal: 'SIGTERM' | 'SIGKILL', downMs: number): Promise<void> {
    const kubelet = this.#kubelet;
    if (signal === 'SIGTERM') {
      void kubelet?.shutDown();
      await this.clock.advance(1500);
    }
    kubelet?.die();
    this.#kubelet = null;
    await this.clock.advance(downMs);
    this.#start();
    await this.clock.advance(0);
  }

  async #runtimeDown(ms: number): Promise<void> {
    this.#calls.isUp = false;
    this.#events.end();
    await this.clock.advance(ms);
    this.#calls.isUp = true;
  }

  #apply(operation: ModelOperation): void {
    switch (operation.type) {
      case 'create':
        return this.#create(operation);
      case 'delete':
        return this.#delete(`pod-${operation.slot}`, operation.graceSeconds);
      case 'deleteByForce':
        return this.#deleteByForce(`pod-${operation.slot}`);
      case 'changeImage':
        return this.#update(operation.slot, ({ spec, ...pod }) => {
          const [first, ...others] = spec.containers;
          this.#disturb('imageChanged', pod.metadata.uid, { container: first!.name });
          return { ...pod, spec: { ...spec, containers: [{ ...first!, image: otherImage }, ...others] } };
        });
      case 'changeLabel':
        return this.#update(operation.slot, (pod) => ({
          ...pod,
          metadata: { ...pod.metadata, labels: { changed: String(this.#now()) } },
        }));
      case 'addEphemeral':
        return this.#update(operation.slot, ({ spec, ...pod }) => {
          const debug = { name: 'debug', image: 'sim/exit:0-after-300ms', imagePullPolicy: 'IfNotPresent' };
          return { ...pod, spec: { ...spec, ephemeralContainers: [debug] } };
        });
      case 'putStatic':
        return this.#putStatic(operation);
      case 'removeStatic':
        this.staticPods.delete(operation.slot);
        return this.#kubelet?.config.set('file', structuredClone([...this.staticPods.values()]));
      case 'probes':
        return this.#setProbes(operation.slot, operation.failing);
      case 'fault':
        return void this.#calls.faults.set(operation.call, { kind: operation.kind, times: operation.times });
      case 'apiFault':
        this.api.fault = { kind: operation.kind, times: operation.times };
        return;
      case 'watchDown':
        this.api.watchDownUntilMs = this.#now() + operation.ms;
        return;
      case 'loseEvents':
        this.#events.isLosing = operation.lost;
        return;
      case 'loseThreads':
        return this.#kubelet?.pool.loseThreads();
      case 'exit':
      case 'lose':
      case 'exitSandbox':
      case 'removeSandbox':
      case 'staleProbeFailure':
        return this.#applyToRuntime(operation);
      case 'runtimeDown':
      case 'restartKubelet':
      case 'wait':
        return;
      default:
        operation satisfies never;
    }
  }

  #create({ slot, shape, policy, graceSeconds }: ModelOperation & { type: 'create' }): void {
    const name = `pod-${slot}`;
    if (this.api.pods.pods.has(name)) return;
    this.#created += 1;
    this.api.put(shapedPod(shape, { name, uid: `uid-${this.#created}`, policy, graceSeconds }) as unknown as Pod);
  }

  #putStatic({ slot, shape, policy, graceSeconds }: ModelOperation & { type: 'putStatic' }): void {
    this.#created += 1;
    const pod = shapedPod(shape, { name: `static-${slot}`, uid: `static-${this.#created}`, policy, graceSeconds });
    this.staticPods.set(slot, pod as unknown as Pod);
    this.#kubelet?.config.set('file', structuredClone([...this.staticPods.values()]));
  }

  #delete(name: string, graceSeconds: number): void {
    const pod = this.api.pods.pods.get(name);
    if (!pod) return;
    const before = pod.metadata.deletionGracePeriodSeconds;
    if (before !== undefined && before <= graceSeconds) return;
    this.#add({ source: 'api', type: 'deleted', atMs: this.#now(), podUID: pod.metadata.uid, graceSeconds });
    const deletionTimestamp = new Date(this.clock.now() + graceSeconds * 1000).toISOString().replace(/\.\d+/, '');
    this.api.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } });
  }

  #deleteByForce(name: string): void {
    const pod = this.api.pods.pods.get(name);
    if (!pod) return;
    this.#add({ source: 'api', type: 'deleted', atMs: this.#now(), podUID: pod.metadata.uid, graceSeconds: 0 });
    this.api.remove(name);
  }

  #update(slot: number, change: (pod: Pod) => Pod): void {
    const pod = this.api.pods.pods.get(`pod-${slot}`);
    if (pod) this.api.put(change(pod));
  }

  #setProbes(slot: number, failing: string | null): void {
    const pod = slot < apiSlots ? this.api.pods.pods.get(`pod-${slot}`) : this.staticPods.get(slot - apiSlots);
    if (pod) this.#failing.set(pod.metadata.uid, failing);
  }

  /** Does nothing when there is nothing to choose from. */
  #applyToRuntime(operation: Extract<ModelOperation, { pick: number }>): void {
    const running = this.runtime.running();
    const container = running[operation.pick % running.length];
    const sandboxes = [...this.runtime.sandboxes.values()];
    const sandbox = sandboxes[operation.pick % sandboxes.length];
    switch (operation.type) {
      case 'exit':
        return container && this.runtime.exit(container, operation.exitCode, operation.reason);
      case 'lose':
        return container && this.#lose(container);
      case 'exitSandbox':
        if (sandbox?.ready) this.#disturb('sandboxLost', sandbox.podUID);
        return sandbox && this.runtime.stopSandbox(sandbox.id);
      case 'removeSandbox':
        if (sandbox) this.#disturb('sandboxLost', sandbox.podUID);
        for (const one of this.runtime.containers.values())
          if (one.sandbox === sandbox) this.#disturb('containerLost', one.sandbox.podUID, { container: one.name });
        return sandbox && this.runtime.removeSandbox(sandbox.id);
      case 'staleProbeFailure':
        return this.#sendStaleFailure(operation.pick);
      default:
        operation satisfies never;
    }
  }

  #lose(container: ModelContainer): void {
    this.#disturb('containerLost', container.sandbox.podUID, { container: container.name });
    this.runtime.removeContainer(container.id);
  }

  /** A liveness probe of an instance that has ended has failed: the result was under way. */
  #sendStaleFailure(pick: number): void {
    for (const { sandbox, id, state } of this.runtime.containers.values())
      if (state === 'exited' && !this.#containerIDs.some((known) => known.id === id))
        this.#containerIDs.push({ podUID: sandbox.podUID, id });
    const chosen = this.#containerIDs[pick % this.#containerIDs.length];
    if (!chosen) return;
    const { podUID, id } = chosen;
    // The kubelet may not know yet that the newest instance has ended. A failure of an older one must change nothing.
    const ended = this.runtime.containers.get(id);
    const isNewest = ended && ![...this.runtime.containers.values()].some((one) => isLater(one, ended));
    if (isNewest) this.#disturb('probeFailed', podUID, { containerID: id });
    this.#kubelet?.onProbeResults([{ podUID: podUID as never, containerID: id as ContainerID, probe: 'liveness', result: 'failure' }]);
  }
}

function isLater(one: ModelContainer, than: ModelContainer): boolean {
  return one.sandbox.podUID === than.sandbox.podUID && one.name === than.name && one.attempt > than.attempt;
}
