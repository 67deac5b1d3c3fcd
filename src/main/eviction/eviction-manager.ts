/**
 * The passes of the eviction manager: each reads the usage, updates the conditions, and decides; the decisions are in the other files of this folder. One
 * pass at a time, every ten seconds, just after the stats thread has sampled, and soon after `check`. A pass waits for nothing but a fresh sample: node-level
 * reclaim and the end of evicted pods go on while passes continue. Upstream: pkg/kubelet/eviction/eviction_manager.go.
 */
import type { EvictionPlan, EvictionSignal, NodeReclaim } from '../../shared/contracts/eviction.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import { reportFault } from '../../shared/errors/contain.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { evictions, evictionStatsAge } from '../../shared/metrics/definitions/eviction.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { podReference, type EventSink } from '../events/index.ts';
import type { KillPodOptions } from '../pods/workers/index.ts';
import { EvictionsInProgress } from './evictions-in-progress.ts';
import { localStorageEviction, notEvictableBecause, pressureEviction, type Eviction } from './evictions.ts';
import { hasLocalStorageLimit, localStorageViolation } from './local-storage.ts';
import { nodeReclaimSteps } from './node-reclaim.ts';
import type { NodePressure } from './node-pressure.ts';
import { NodeReclaimer } from './node-reclaimer.ts';
import { observe, type Observations } from './observe.ts';
import { computePlan } from './plan.ts';
import type { PodStatsReader } from './pod-stats.ts';
import { computePressure, noPressure, thresholdsMet, type PressureResult } from './pressure.ts';
import { rankPods } from './rank-pods.ts';
import type { NodeReading } from './read-node-stats.ts';
import type { EvictionSettings } from './settings.ts';
import { conditionOf, resourceOf } from './signals.ts';
import { isHard, withContainerFsThresholds, type FilesystemLayout, type Threshold } from './thresholds.ts';

export interface EvictionManagerDependencies {
  readonly settings: EvictionSettings;
  readonly readNode: () => NodeReading;
  readonly readPods: (pods: readonly Pod[]) => PodStatsReader;
  /** Measures the node now; with `filesystems` also those of the runtime. Must settle soon; a failure leaves older values. */
  readonly sample: (what: { readonly filesystems: boolean }) => Promise<void>;
  /** The pods that use the node's resources, with their allocated resources. */
  readonly activePods: () => readonly Pod[];
  readonly kill: (uid: PodUID, options: KillPodOptions) => Promise<void>;
  /** Whether nothing is left of the pod on this node. */
  readonly isFinished: (uid: PodUID) => boolean;
  /** Must settle. */
  readonly reclaim: Readonly<Record<NodeReclaim, () => Promise<void>>>;
  readonly pressure: NodePressure;
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Upstream's evictionMonitoringPeriod, which is also the period of the stats thread's samples. */
const periodMs = 10_000;
/** After a sample, until its values are written. */
const sampleLagMs = 250;
/** Checks can be caused by pods: they may not keep the stats thread busy. */
const minIntervalMs = 1000;
/** Pods that exceed limits may delay an eviction under pressure for this long, in total: a tenant can create new ones forever. */
const maxLimitsWaitMs = 30_000;

/** A threshold for which pods are evicted, with all that the decision is based on. */
interface Starvation {
  readonly threshold: Threshold;
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly layout: FilesystemLayout;
}

type Reading = PressureResult & { readonly layout: FilesystemLayout; readonly isLayoutKnown: boolean };

const oneFilesystem: FilesystemLayout = { dedicatedImageFs: false, splitContainerFs: false };

export class EvictionManager {
  readonly #deps: EvictionManagerDependencies;
  readonly #wakeup: Wakeup;
  readonly #inProgress = new EvictionsInProgress();
  readonly #reclaimer: NodeReclaimer<Starvation>;
  #state = noPressure;
  #thresholds: { readonly key: string; readonly list: readonly Threshold[] } = { key: '', list: [] };
  #isCheckRequested = false;
  /** Since when evictions of pods that exceed limits delay an eviction under pressure. Monotonic. */
  #waitingSinceMs: number | null = null;
  #lastPassAtMs: number | null = null;
  #problem: string | null = null;

  constructor(dependencies: EvictionManagerDependencies) {
    this.#deps = dependencies;
    const { reclaim: steps, clock, logger } = dependencies;
    this.#wakeup = new Wakeup(clock);
    this.#reclaimer = new NodeReclaimer({ steps, onOver: () => this.#wakeup.wake(), clock, logger });
  }

  /** Starts a pass soon, with fresh values. Many calls start one pass. */
  check(): void {
    this.#isCheckRequested = true;
    this.#wakeup.wake();
  }

  /** Nothing is left of a pod, whether it was evicted or not. */
  onPodFinished(uid: PodUID): void {
    if (this.#inProgress.finish(uid)) this.check();
  }

  /** What a pass would do now, from the last measurements. */
  plan(signal?: EvictionSignal): EvictionPlan {
    const { settings, clock, activePods, readPods } = this.#deps;
    const { state, layout, isLayoutKnown } = this.#read();
    const pods = this.#candidates(activePods());
    return computePlan({
      settings: { ...settings, thresholds: this.#thresholds.list },
      state,
      layout,
      isLayoutKnown,
      pods,
      stats: readPods(pods),
      isEvicted: (uid) => this.#inProgress.isEvicted(uid),
      isReclaiming: this.#reclaimer.isBusy,
      signal: signal ?? null,
      lastPassAtMs: this.#lastPassAtMs,
      problem: this.#problem,
      wallMs: clock.now(),
      nowMs: clock.monotonic(),
    });
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, clock, logger } = this.#deps;
    if (settings.thresholds.length === 0 && !settings.localStorageCapacityIsolation) return;
    while (!signal.aborted) {
      const beganAtMs = clock.monotonic();
      try {
        await this.pass();
      } catch (err) {
        this.#problem = messageOf(err);
        reportFault({ handler: 'eviction', logger }, err);
      }
      this.#lastPassAtMs = clock.now();
      await clock.sleep(Math.max(0, beganAtMs + minIntervalMs - clock.monotonic()), signal).catch(() => {});
      await this.#wakeup.next(this.#untilNextPassMs(), signal);
    }
  }

  /** Runs one pass. Calls must not overlap. */
  async pass(): Promise<void> {
    const isChecked = this.#isCheckRequested;
    this.#isCheckRequested = false;
    this.#updateInProgress();
    const reclaimedFor = this.#reclaimer.take();
    if (reclaimedFor) return this.#afterReclaim(reclaimedFor);
    if (isChecked) await this.#sample();
    let reading = this.#read();
    // The table may be as old as a period.
    if (!isChecked && this.#selectThreshold(reading)) {
      await this.#sample();
      reading = this.#read();
    }
    this.#apply(reading);
    this.#evictForLimits(reading);
    const threshold = this.#selectThreshold(reading);
    if (!threshold) this.#waitingSinceMs = null;
    else if (!this.#shouldWaitForLimits()) {
      this.#reclaimResource({ threshold, thresholds: reading.toReclaim, observations: reading.state.observations, layout: reading.layout });
    }
  }

  #untilNextPassMs(): number {
    const sampledAtMs = this.#state.observations.get('memory.available')?.atMs ?? -Infinity;
    const untilSampleMs = sampledAtMs + periodMs + sampleLagMs - this.#deps.clock.now();
    return Math.min(periodMs, untilSampleMs > 0 ? untilSampleMs : periodMs);
  }

  async #sample(): Promise<void> {
    const { sample, logger } = this.#deps;
    // The runtime is not asked while only memory is scarce: it may be slow for that reason.
    const filesystems = [...this.#state.metSinceMs.keys()].some(({ signal }) => conditionOf(signal) === 'DiskPressure');
    try {
      await sample({ filesystems });
    } catch (err) {
      logger.warn({ err: messageOf(err) }, 'Could not measure the node for evictions, using older values');
    }
  }

  #read(): Reading {
    const { readNode, settings, clock } = this.#deps;
    const { stats, layout } = readNode();
    const observations = observe(stats);
    const known = layout ?? oneFilesystem;
    const inputs = { observations, transitionPeriodMs: settings.pressureTransitionPeriodMs, nowMs: clock.monotonic() };
    const result = computePressure(this.#state, { ...inputs, thresholds: this.#thresholdsOf(known) });
    return { ...result, layout: known, isLayoutKnown: layout !== null };
  }

  /** The same objects for the same layout. */
  #thresholdsOf(layout: FilesystemLayout): readonly Threshold[] {
    const key = JSON.stringify(layout);
    if (this.#thresholds.key !== key) this.#thresholds = { key, list: withContainerFsThresholds(this.#deps.settings.thresholds, layout) };
    return this.#thresholds.list;
  }

  #apply({ state }: Reading): void {
    const { pressure, logger } = this.#deps;
    this.#state = state;
    if (pressure.set(state.conditions))
      logger.info({ conditions: [...state.conditions] }, 'The pressure conditions of the node have changed');
    const missing = this.#thresholds.list.map(({ signal }) => signal).filter((signal) => !state.observations.has(signal));
    const problem = missing.length === 0 ? null : `no observation of ${[...new Set(missing)].join(', ')}`;
    // Before the first sample nothing is known.
    if (problem !== this.#problem && problem && state.observations.size > 0) logger.warn({ problem }, 'Eviction signals are not known');
    this.#problem = problem;
  }

  #updateInProgress(): void {
    const { isFinished, clock, logger } = this.#deps;
    for (const uid of this.#inProgress.uids()) if (isFinished(uid)) this.#inProgress.finish(uid);
    const overdue = this.#inProgress.expire(clock.monotonic());
    if (overdue.length > 0) logger.warn({ podUIDs: overdue }, 'Timed out waiting for evicted pods to be cleaned up');
  }

  /** The threshold for which this pass may evict a pod. */
  #selectThreshold({ toReclaim, layout }: Reading): Threshold | undefined {
    if (this.#inProgress.has('hard')) return undefined;
    return toReclaim.find((threshold) => {
      if (this.#inProgress.has('soft') && !isHard(threshold)) return false;
      return !this.#reclaimer.isBusy || nodeReclaimSteps(threshold.signal, layout).length === 0;
    });
  }

  #evictForLimits({ layout }: Reading): void {
    const { settings, activePods, readPods } = this.#deps;
    if (!settings.localStorageCapacityIsolation) return;
    const limited = this.#candidates(activePods()).filter(
      (pod) => hasLocalStorageLimit(pod) && this.#inProgress.canEvict(podUID(pod), 'limit'),
    );
    if (limited.length === 0) return;
    const stats = readPods(limited);
    for (const pod of limited) {
      const usage = stats(pod);
      const violation = usage && localStorageViolation(pod, usage, !layout.dedicatedImageFs);
      if (violation) this.#evict(localStorageEviction(pod, violation));
    }
  }

  /** What the pods that exceed limits free may suffice. */
  #shouldWaitForLimits(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    if (!this.#inProgress.has('limit')) {
      this.#waitingSinceMs = null;
      return false;
    }
    this.#waitingSinceMs ??= nowMs;
    return nowMs - this.#waitingSinceMs < maxLimitsWaitMs;
  }

  #reclaimResource(starvation: Starvation): void {
    const { nodeName, events, logger } = this.#deps;
    const { threshold, layout } = starvation;
    const resource = resourceOf(threshold.signal);
    logger.info({ resource, signal: threshold.signal }, 'Attempting to reclaim a resource');
    events.record({
      object: nodeReference(nodeName),
      type: 'Warning',
      reason: 'EvictionThresholdMet',
      message: `Attempting to reclaim ${resource}`,
    });
    const steps = nodeReclaimSteps(threshold.signal, layout);
    if (steps.length === 0 || !this.#reclaimer.start(steps, starvation)) this.#evictFor(starvation);
  }

  /** Evicts a pod unless every threshold, with its minimum reclaim, is satisfied now. */
  async #afterReclaim(starvation: Starvation): Promise<void> {
    const { logger, readNode } = this.#deps;
    await this.#sample();
    const { stats, layout } = readNode();
    const met = thresholdsMet(this.#thresholdsOf(layout ?? oneFilesystem), observe(stats), { withMinReclaim: true });
    if (met.length > 0) return this.#evictFor(starvation);
    logger.info({ signal: starvation.threshold.signal }, 'Able to reduce resource pressure without evicting pods');
  }

  /** Evicts the first pod in the ranking that can be evicted. */
  #evictFor({ threshold, thresholds, observations, layout }: Starvation): void {
    const { settings, activePods, readPods, clock, logger } = this.#deps;
    const { signal } = threshold;
    const pods = this.#candidates(activePods());
    const stats = readPods(pods);
    const ranked = rankPods(signal, pods, stats, layout).map(({ pod }) => pod);
    logger.info({ signal, pods: ranked.map(nameOf) }, 'Must evict a pod; these are ranked for eviction');
    for (const { signal: measured } of thresholds) {
      const observed = observations.get(measured);
      if (observed) evictionStatsAge.observe(Math.max(0, clock.now() - observed.atMs) / 1000, { eviction_signal: measured });
    }
    const cause = isHard(threshold) ? 'hard' : 'soft';
    const victim = ranked.find((pod) => notEvictableBecause(pod) === null && this.#inProgress.canEvict(podUID(pod), cause));
    if (!victim) return logger.error({ signal, pods: ranked.length }, 'Unable to evict any pods from the node');
    const { maxPodGracePeriodSeconds } = settings;
    this.#evict(pressureEviction(victim, stats(victim), { threshold, thresholds, observations, maxPodGracePeriodSeconds }));
  }

  /** A critical pod stays. */
  #evict({ pod, cause, signal, gracePeriodSeconds, failed, annotations }: Eviction): void {
    const { kill, isFinished, events, clock, logger } = this.#deps;
    if (notEvictableBecause(pod) !== null) return;
    const uid = podUID(pod);
    const fields = { pod: nameOf(pod), podUID: uid };
    events.record({ object: podReference(pod), type: 'Warning', reason: failed.reason, message: failed.message, annotations });
    logger.info({ ...fields, signal, gracePeriodSeconds, reason: failed.message }, 'Evicting a pod');
    evictions.inc({ eviction_signal: signal });
    this.#inProgress.add(uid, cause, gracePeriodSeconds, clock.monotonic());
    kill(uid, { evicted: true, gracePeriodOverrideSeconds: gracePeriodSeconds, failed })
      .then(
        () => logger.info(fields, 'The pod is evicted'),
        (err: unknown) => logger.error({ ...fields, err: messageOf(err) }, 'The pod failed to evict'),
      )
      .finally(() => {
        if (isFinished(uid)) this.onPodFinished(uid);
      });
  }

  /** A pod that nothing has started yet, and of which nothing is left, frees nothing. */
  #candidates(pods: readonly Pod[]): Pod[] {
    return pods.filter((pod) => !this.#deps.isFinished(podUID(pod)));
  }
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
