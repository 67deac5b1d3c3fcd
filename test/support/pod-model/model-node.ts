/** A node in one thread, with a clock of its own: kubelets that come and go, a runtime, an API server and a folder of manifests. Records the pods' history. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { isCriticalPod } from '../../../src/shared/kubernetes/critical-pod.ts';
import type { PodDisturbance, PodHistoryEntry } from '../pod-histories/pod-history.ts';
import { mergeHistories } from '../pod-histories/pod-history.ts';
import { KillPoints } from './kill-points.ts';
import { ModelCgroups } from './model-cgroups.ts';
import { ModelCheckpoints } from './model-checkpoints.ts';
import { Life, ModelClock } from './model-clock.ts';
import { ModelApi } from './model-api.ts';
import { ModelEvents } from './model-events.ts';
import type { ModelHost } from './model-host.ts';
import { ModelKubelet } from './model-kubelet.ts';
import type { ModelOperation } from './model-operations.ts';
import { ModelRuntime } from './model-runtime.ts';
import { ModelMachine } from './model-machine.ts';
import { ModelVolumes } from './model-volumes.ts';
import { PodOperations } from './pod-operations.ts';
import { Excesses } from './resize-excesses.ts';
import { ResizeEvents } from './resize-events.ts';
import { applyResizeOperation, type ResizedNode } from './resize-faults.ts';
import { RuntimeCalls } from './runtime-calls.ts';
import { RuntimeOperations } from './runtime-operations.ts';

/** More than the longest deadline of a call that hangs, RunPodSandbox, and than the longest back-off of a container with a resync. */
const settleMs = 250_000;

/** The kubelet learns later that a critical pod is gone. The longest operation. */
const preemptedWithinMs = 20_000;

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
  readonly cgroups: ModelCgroups;
  readonly machine = new ModelMachine(this.clock);
  readonly volumes = new ModelVolumes(this.clock, this.#killPoints);
  readonly resizeEvents = new ResizeEvents();
  readonly #events: ModelEvents;
  readonly #entries: PodHistoryEntry[] = [];
  readonly #podOperations: PodOperations;
  readonly #host: ModelHost;
  readonly #resized: ResizedNode;
  readonly #runtimeOperations: RuntimeOperations;
  /** What is allocated and more than the node has. */
  readonly excesses = new Set<string>();
  readonly preempted = new Set<string>();
  /** When sources last had each critical pod. */
  readonly #criticalMs = new Map<string, number>();
  /** Pods that ended for no critical one. */
  readonly causelessPreemptions = new Set<string>();
  #kubelet: ModelKubelet | null = null;
  #launches = 0;
  #cancelStart: () => void = () => {};

  constructor({ useEvents, cgroupVersion = 1 }: { readonly useEvents: boolean; readonly cgroupVersion?: 1 | 2 | undefined }) {
    mkdirSync(this.#rootDir);
    this.cgroups = new ModelCgroups(cgroupVersion, this.runtime, this.clock, this.#killPoints);
    this.#events = new ModelEvents();
    this.runtime.onChange = (uid) => this.#events.send(uid);
    this.#calls.execResult = (uid) => (this.#podOperations.failing.get(uid) === 'hooks' ? 1 : 0);
    this.api.onStatus = (podUID, status) => this.#add({ source: 'api', type: 'status', atMs: this.#now(), podUID, status });
    this.api.onRemoved = (podUID) => this.#add({ source: 'api', type: 'finished', atMs: this.#now(), podUID });
    this.api.onWatch = (pods) => this.#kubelet?.sources.set('api', pods);
    this.#host = {
      clock: this.clock,
      cgroupVersion,
      machine: this.machine,
      volumes: this.volumes,
      runtime: this.runtime,
      calls: this.#calls,
      folder: this.#folder,
      rootDir: this.#rootDir,
      checkpoints: this.checkpoints,
      cgroups: this.cgroups,
      client: (life: Life) => this.api.client(life),
      apiPods: { get: this.api.pods.apiPod },
      outcome: (uid, _, probe) => (this.#podOperations.failing.get(uid) === probe ? 'failure' : 'success'),
      onProbeResult: ({ podUID, containerID, probe, result }) => {
        if (result === 'failure') this.#disturb(probe === 'readiness' ? 'probeUnready' : 'probeFailed', podUID, { containerID });
      },
      onEvent: (event) => this.#onEvent(event),
      events: useEvents ? (signal) => this.#events.stream(signal) : null,
    };
    this.#runtimeOperations = new RuntimeOperations({
      runtime: this.runtime,
      disturb: (type, podUID, more) => this.#disturb(type, podUID, more),
      onProbeResults: (results) => this.#kubelet?.onProbeResults(results),
    });
    const onResize = ({ metadata: { uid: podUID, generation = 0 } }: Pod, container: string | undefined) => {
      this.resizeEvents.ask(podUID, generation);
      this.#disturb('resizeAsked', podUID);
      if (container !== undefined) this.#disturb('resized', podUID, { container });
    };
    this.#podOperations = new PodOperations({
      api: this.api,
      clock: this.clock,
      add: (entry) => this.#add(entry),
      disturb: (type, podUID, more) => this.#disturb(type, podUID, more),
      onResize,
      onManifests: (pods) => this.#kubelet?.sources.set('file', pods),
    });
    this.#resized = {
      clock: this.clock,
      api: this.api,
      runtime: this.runtime,
      calls: this.#calls,
      cgroups: this.cgroups,
      checkpoints: this.checkpoints,
      machine: this.machine,
      resizeStatic: (slot, change) => this.#podOperations.resizeStatic(slot, change),
      killLater: (points, downMs) => this.#killLater(points, downMs),
      onResize,
    };
    const excesses = new Excesses(this);
    this.checkpoints.onAllocations = (allocations) => {
      for (const excess of excesses.find(allocations)) this.excesses.add(excess);
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
    this.#noteCritical();
    if (operation.type === 'loseCheckpoint') this.#end();
    this.#apply(operation);
    this.#noteCritical();
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
    this.#podOperations.failing.clear();
    this.#events.isLosing = false;
    this.#killPoints.disarm();
    this.cgroups.failures = 0;
    this.checkpoints.fullUntilMs = 0;
    if (this.#calls.sandboxUpdates === 'refuses' || this.#calls.sandboxUpdates === 'hangs') this.#calls.sandboxUpdates = 'works';
    for (const container of this.runtime.containers.values()) container.usageBytes = 0;
    await this.clock.advance(settleMs);
  }

  /** Deletes every pod, and returns what is left. */
  async removeEverything(): Promise<readonly string[]> {
    this.#noteCritical();
    for (const pod of this.api.pods.pods.values()) this.#podOperations.delete(pod.metadata.name, 1);
    this.#podOperations.removeManifests();
    await this.clock.advance(settleMs);
    return [
      ...[...this.api.pods.pods.values()].map(({ metadata }) => `API object ${metadata.uid}`),
      ...[...this.runtime.containers.values()].map(({ sandbox, name, state }) => `container ${sandbox.podUID}/${name} (${state})`),
      ...[...this.runtime.sandboxes.values()].map(({ podUID, ready }) => `sandbox of ${podUID} (${ready ? 'ready' : 'not ready'})`),
      ...(this.#kubelet?.podStates.uids() ?? []).map((uid) => `worker of ${uid}`),
    ];
  }

  onCall(listener: (name: string, atMs: number) => void): void {
    this.#calls.onCall = listener;
  }

  /** All pods that sources have. */
  get pods(): readonly Pod[] {
    return [...this.api.pods.pods.values(), ...this.#podOperations.manifests];
  }

  get overlappingUpdates(): readonly string[] {
    return [...this.#calls.overlaps];
  }

  #noteCritical(): void {
    for (const pod of this.pods) if (isCriticalPod(pod)) this.#criticalMs.set(pod.metadata.uid, this.#now());
  }

  #onEvent(event: RecordedEvent): void {
    const podUID = event.object.uid ?? '';
    if (event.reason === 'FailedPostStartHook') this.#disturb('callFailed', podUID);
    if (event.reason === 'Preempting') {
      this.preempted.add(podUID);
      this.#disturb('preempted', podUID);
      const isForCritical = [...this.#criticalMs].some(([uid, atMs]) => uid !== podUID && this.#now() - atMs < preemptedWithinMs);
      if (!isForCritical) this.causelessPreemptions.add(podUID);
    }
    this.resizeEvents.record(event, this.#launches, this.#now());
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
      kubelet.sources.set('file', this.#podOperations.manifests);
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
      case 'delete':
      case 'deleteByForce':
      case 'changeImage':
      case 'changeLabel':
      case 'addEphemeral':
      case 'putStatic':
      case 'removeStatic':
      case 'probes':
        return this.#podOperations.apply(operation);
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
      case 'resizeStatic':
      case 'resizeVolume':
      case 'nodeChanges':
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
}
