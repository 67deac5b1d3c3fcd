/** A node for the eviction manager: its usage, its pods, and a record of what the manager does. The test ends evicted pods. */
import type { AllocatedPod } from '../../../src/main/allocation/index.ts';
import type { NodeReclaim } from '../../../src/shared/contracts/eviction.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import { podUID, type PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { EvictionManager } from '../../../src/main/eviction/eviction-manager.ts';
import { NodePressure } from '../../../src/main/eviction/node-pressure.ts';
import type { NodeStats } from '../../../src/main/eviction/observe.ts';
import type { PodStats } from '../../../src/main/eviction/pod-stats.ts';
import type { EvictionSettings } from '../../../src/main/eviction/settings.ts';
import { parseThresholds, type FilesystemLayout, type ThresholdSettings } from '../../../src/main/eviction/thresholds.ts';
import type { KillPodOptions } from '../../../src/main/pods/workers/index.ts';
import { FakeClock } from '../fake-clock.ts';
import { silentLogger } from '../logger.ts';

export interface Kill extends KillPodOptions {
  readonly pod: string;
  readonly settle: PromiseWithResolvers<void>;
}

export interface EvictionNodeOptions extends Partial<Omit<EvictionSettings, 'thresholds'>> {
  readonly thresholds?: Partial<ThresholdSettings>;
  readonly layout?: FilesystemLayout | null;
  readonly startMs?: number;
}

export class EvictionNode {
  readonly clock: FakeClock;
  readonly pressure = new NodePressure();
  readonly manager: EvictionManager;
  readonly events: RecordedEvent[] = [];
  readonly kills: Kill[] = [];
  readonly reclaims: NodeReclaim[] = [];
  readonly samples: { readonly filesystems: boolean }[] = [];
  readonly finished = new Set<PodUID>();
  layout: FilesystemLayout | null;
  stats: NodeStats = {};
  settings: EvictionSettings;
  pods: readonly AllocatedPod[] = [];
  /** By the pod's name. */
  podStats: Readonly<Record<string, PodStats>> = {};
  /** Called by each sample: a measurement. */
  onSample: () => void | Promise<void> = () => {};
  containersRemovedAtMs: number | null = null;
  /** Called by each step of node-level reclaim. */
  onReclaim: (step: NodeReclaim) => void | Promise<void> = () => {};

  constructor({ thresholds = {}, layout, startMs, ...settings }: EvictionNodeOptions = {}) {
    this.clock = new FakeClock(startMs);
    this.layout = layout === undefined ? { dedicatedImageFs: false, splitContainerFs: false } : layout;
    const none = {
      enforceNodeAllocatable: [],
      evictionHard: {},
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
    };
    const step = (name: NodeReclaim) => async () => {
      this.reclaims.push(name);
      await this.onReclaim(name);
    };
    this.settings = {
      thresholds: parseThresholds({ ...none, ...thresholds }),
      pressureTransitionPeriodMs: 300_000,
      maxPodGracePeriodSeconds: 0,
      memoryVolumesResize: false,
      localStorageCapacityIsolation: true,
      ...settings,
    };
    this.manager = new EvictionManager({
      settings: () => this.settings,
      readNode: () => ({ stats: this.stats, layout: this.layout }),
      readPods: () => (pod) => this.podStats[pod.metadata.name],
      sample: async (what) => {
        this.samples.push(what);
        await this.onSample();
      },
      activePods: () => this.pods,
      kill: (uid, options) => {
        const settle = Promise.withResolvers<void>();
        this.kills.push({ pod: this.#nameOf(uid), settle, ...options });
        return settle.promise;
      },
      isFinished: (uid) => this.finished.has(uid),
      reclaim: { deadContainers: step('deadContainers'), unusedImages: step('unusedImages') },
      containersRemovedAtMs: () => this.containersRemovedAtMs,
      pressure: this.pressure,
      nodeName: 'node-1',
      events: { record: (event) => this.events.push(event) },
      clock: this.clock,
      logger: silentLogger,
    });
  }

  /** Runs a pass, and what follows it: the pass after node-level reclaim. */
  async pass(): Promise<void> {
    const before = this.reclaims.length;
    await this.manager.pass();
    await this.clock.advance(0);
    if (this.reclaims.length > before) await this.manager.pass();
  }

  /** The pod leaves the node. */
  finish(name: string): void {
    const uid = podUID(this.pods.find(({ metadata }) => metadata.name === name)!);
    this.finished.add(uid);
    this.pods = this.pods.filter(({ metadata }) => metadata.name !== name);
    this.manager.onPodFinished(uid);
  }

  /** Memory of 10 GB, of which this much is available, measured now. */
  setMemory(availableBytes: number): void {
    this.stats = { ...this.stats, memory: { availableBytes, workingSetBytes: 10e9 - availableBytes, atMs: this.clock.now() } };
  }

  /** A root filesystem of 100 GB, of which this much is available, measured now. */
  setDisk(availableBytes: number): void {
    const filesystem = { availableBytes, capacityBytes: 100e9, inodesFree: 1000, inodes: 1000, atMs: this.clock.now() };
    this.stats = { ...this.stats, nodefs: filesystem, imagefs: filesystem, containerfs: filesystem };
  }

  get evicted(): string[] {
    return this.kills.map(({ pod }) => pod);
  }

  #nameOf(uid: PodUID): string {
    return this.pods.find((pod) => podUID(pod) === uid)?.metadata.name ?? uid;
  }
}
