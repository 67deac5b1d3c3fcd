/** A node in one thread, with a clock of its own: kubelets that come and go, a runtime, an API server and a folder of manifests. Records the pods' history. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { PodDisturbance, PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { mergeHistories } from '../pod-histories/pod-history.ts';
import { otherImage, shapedPod } from '../pod-histories/pod-shapes.ts';
import { KillPoints } from './kill-points.ts';
import { ModelCgroups } from './model-cgroups.ts';
import { ModelCheckpoints } from './model-checkpoints.ts';
import { Life, ModelClock } from './model-clock.ts';
import { ModelApi } from './model-api.ts';
import { ModelEvents } from './model-events.ts';
import type { ModelHost } from './model-host.ts';
import { ModelKubelet } from './model-kubelet.ts';
import { apiSlots, type ModelOperation } from './model-operations.ts';
import { ModelRuntime } from './model-runtime.ts';
import { findExcess } from './resize-invariants.ts';
import { applyResizeOperation, type ResizedNode } from './resize-faults.ts';
import { RuntimeCalls } from './runtime-calls.ts';
import { RuntimeOperations } from './runtime-operations.ts';

/** More than the longest deadline of a call that hangs, RunPodSandbox, and than the longest back-off of a container with a resync. */
const settleMs = 250_000;

/** More than the interval of resyncs. */
const afterRestartMs = 70_000;

export class ModelNode {
  readonly clock = new ModelClock();
  readonly api = new ModelApi(this.clock);
  readonly runtime = new ModelRuntime(this.clock);
  readonly #killPoints = new KillPoints();
  readonly #calls = new RuntimeCalls(this.runtime, this.clock, this.#killPoints);
  readonly #folder = mkdtempSync(join(tmpdir(), 'model-node-'));
  readonly #rootDir = join(this.#folder, 'kubelet');
  readonly checkpoints = new ModelCheckpoints(this.#rootDir, this.clock, this.#killPoints);
  readonly cgroups = new ModelCgroups(this.runtime, this.clock, this.#killPoints);
  readonly #events: ModelEvents;
  readonly #entries: PodHistoryEntry[] = [];
  /** By slot. */
  readonly staticPods = new Map<number, Pod>();
  readonly #failing = new Map<string, string | null>();
  readonly #host: ModelHost;
  readonly #resized: ResizedNode;
  readonly #runtimeOperations: RuntimeOperations;
  /** What is allocated and more than the node has. */
  readonly excesses = new Set<string>();
  #kubelet: ModelKubelet | null = null;
  #launches = 0;
  #cancelStart: () => void = () => {};
  #created = 0;

  constructor({ useEvents }: { readonly useEvents: boolean }) {
    mkdirSync(this.#rootDir);
    this.#events = new ModelEvents();
    this.runtime.onChange = (uid) => this.#events.send(uid);
    this.#calls.execResult = (uid) => (this.#failing.get(uid) === 'hooks' ? 1 : 0);
    this.api.onStatus = (podUID, status) => this.#add({ source: 'api', type: 'status', atMs: this.#now(), podUID, status });
    this.api.onRemoved = (podUID) => this.#add({ source: 'api', type: 'finished', atMs: this.#now(), podUID });
    this.api.onWatch = (pods) => this.#kubelet?.sources.set('api', pods);
    this.#host = {
      clock: this.clock,
      runtime: this.runtime,
      calls: this.#calls,
      folder: this.#folder,
      rootDir: this.#rootDir,
      checkpoints: this.checkpoints,
      cgroups: this.cgroups,
      client: (life: Life) => this.api.client(life),
      apiPods: { get: this.api.pods.apiPod },
      outcome: (uid, _, probe) => (this.#failing.get(uid) === probe ? 'failure' : 'success'),
      onProbeResult: ({ podUID, containerID, probe, result }) => {
        if (result === 'failure') this.#disturb(probe === 'readiness' ? 'probeUnready' : 'probeFailed', podUID, { containerID });
      },
      onEvent: ({ object, reason }) => {
        if (reason === 'FailedPostStartHook') this.#disturb('callFailed', object.uid ?? '');
      },
      events: useEvents ? (signal) => this.#events.stream(signal) : null,
    };
    this.#runtimeOperations = new RuntimeOperations({
      runtime: this.runtime,
      disturb: (type, podUID, more) => this.#disturb(type, podUID, more),
      onProbeResults: (results) => this.#kubelet?.onProbeResults(results),
    });
    this.#resized = {
      clock: this.clock,
      api: this.api,
      runtime: this.runtime,
      calls: this.#calls,
      cgroups: this.cgroups,
      checkpoints: this.checkpoints,
      killLater: (points, downMs) => this.#killLater(points, downMs),
      onResize: (podUID, container) => {
        this.#disturb('resizeAsked', podUID);
        if (container !== undefined) this.#disturb('resized', podUID, { container });
      },
    };
    this.checkpoints.onAllocations = (allocations) => {
      for (const excess of findExcess(this, allocations)) this.excesses.add(excess);
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
    if (operation.type === 'loseCheckpoint') this.#end();
    this.#apply(operation);
    if (operation.type === 'restartKubelet') await this.#restart(operation.signal, operation.downMs);
    else if (operation.type === 'runtimeDown') await this.#runtimeDown(operation.ms);
    else if (operation.type === 'loseCheckpoint') await this.#restart('SIGKILL', 10);
    else await this.clock.advance(operation.type === 'wait' ? operation.ms : 0);
  }

  /** Kills the kubelet, and returns how often the next one changes a container's resources. */
  async countUpdatesAfterRestart(): Promise<number> {
    const before = this.runtime.updates;
    await this.#restart('SIGKILL', 0);
    await this.clock.advance(afterRestartMs);
    return this.runtime.updates - before;
  }

  /** Ends all faults, and waits until nothing more happens. */
  async settle(): Promise<void> {
    this.#calls.faults.clear();
    this.api.fault = null;
    this.#failing.clear();
    this.#events.isLosing = false;
    this.#killPoints.disarm();
    this.cgroups.failures = 0;
    this.checkpoints.fullUntilMs = 0;
    if (this.#calls.sandboxUpdates === 'refuses') this.#calls.sandboxUpdates = 'works';
    for (const container of this.runtime.containers.values()) container.usageBytes = 0;
    await this.clock.advance(settleMs);
  }

  /** Deletes every pod, and returns what is left. */
  async removeEverything(): Promise<readonly string[]> {
    for (const pod of this.api.pods.pods.values()) this.#delete(pod.metadata.name, 1);
    this.staticPods.clear();
    this.#kubelet?.sources.set('file', []);
    await this.clock.advance(settleMs);
    return [
      ...[...this.api.pods.pods.values()].map(({ metadata }) => `API object ${metadata.uid}`),
      ...[...this.runtime.containers.values()].map(({ sandbox, name, state }) => `container ${sandbox.podUID}/${name} (${state})`),
      ...[...this.runtime.sandboxes.values()].map(({ podUID, ready }) => `sandbox of ${podUID} (${ready ? 'ready' : 'not ready'})`),
      ...(this.#kubelet?.podStates.uids() ?? []).map((uid) => `worker of ${uid}`),
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
    this.#cancelStart();
    this.#end();
    const launch = this.#launches;
    void ModelKubelet.start(this.#host, ['file', 'api']).then((kubelet) => {
      if (launch !== this.#launches) return kubelet.die();
      this.#add({ source: 'kubelet', type: 'launched', atMs: this.#now() });
      this.#kubelet = kubelet;
      kubelet.sources.set('file', structuredClone([...this.staticPods.values()]));
      this.api.changed();
    });
  }

  /** Kills the kubelet after `points` kill points, and starts it again. */
  #killLater(points: number, downMs: number): void {
    this.#killPoints.arm(points, () => {
      this.#end();
      this.#cancelStart();
      this.#cancelStart = this.clock.after(downMs, () => this.#start());
    });
  }

  #end(): void {
    this.#launches += 1;
    this.#kubelet?.die();
    this.#kubelet = null;
  }

  async #restart(signal: 'SIGTERM' | 'SIGKILL', downMs: number): Promise<void> {
    const kubelet = this.#kubelet;
    if (signal === 'SIGTERM') {
      void kubelet?.shutDown();
      await this.clock.advance(1500);
    }
    this.#end();
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
        return this.#kubelet?.sources.set('file', structuredClone([...this.staticPods.values()]));
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
        return this.#kubelet?.loseThreads();
      case 'exit':
      case 'lose':
      case 'exitSandbox':
      case 'removeSandbox':
      case 'staleProbeFailure':
        return this.#runtimeOperations.apply(operation);
      case 'runtimeDown':
      case 'restartKubelet':
      case 'wait':
        return;
      case 'resize':
      case 'use':
      case 'killAt':
      case 'diskFull':
      case 'cgroupFault':
      case 'sandboxUpdates':
      case 'loseCheckpoint':
        return applyResizeOperation(this.#resized, operation);
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
    this.#kubelet?.sources.set('file', structuredClone([...this.staticPods.values()]));
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
}
