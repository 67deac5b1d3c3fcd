/**
 * Runs passes, one at a time: every ten seconds, just after the stats thread has sampled, and soon after `check`. A pass reads the usage of the node,
 * updates the pressure conditions, and reclaims or evicts as the other files of this folder decide. It waits only for a fresh sample, neither for
 * node-level reclaim nor for the end of evicted pods. Upstream: pkg/kubelet/eviction/eviction_manager.go.
 */
import type { EvictionPlan, EvictionSignal } from '../../shared/contracts/eviction.ts';
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import { reportFault } from '../../shared/faults/contain.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { AllocatedPod } from '../allocation/index.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { nodeReference } from '../../shared/kubernetes/node-reference.ts';
import { evictionStatsAge } from '../../shared/metrics/definitions/eviction.ts';
import { chooseThreshold, chooseVictim, type Ongoing } from './choose.ts';
import type { EvictionManagerDependencies } from './eviction-manager-dependencies.ts';
import { localStorageEviction, pressureEviction } from './evictions.ts';
import { LayoutThresholds } from './layout-thresholds.ts';
import { hasLocalStorageLimit, localStorageViolation } from './local-storage.ts';
import { nodeReclaimSteps } from './node-reclaim.ts';
import { NodeReclaimer } from './node-reclaimer.ts';
import { observe, type Observations } from './observe.ts';
import { computePlan } from './plan.ts';
import { nameOf, PodEvictor } from './pod-evictor.ts';
import { readInBatches } from './pod-stats.ts';
import { computePressure, noPressure, thresholdsMet, type PressureResult, type PressureState } from './pressure.ts';
import { rankPods } from './rank-pods.ts';
import { waitForStorageRelease } from './storage-release.ts';
import { conditionOf, resourceOf } from './signals.ts';
import type { FilesystemLayout, Threshold } from './thresholds.ts';

/** Upstream's evictionMonitoringPeriod, which is also the period of the stats thread's samples. */
const periodMs = 10_000;
/** A pass begins this long after the time of a sample: the stats thread writes the values meanwhile. */
const sampleLagMs = 250;
/** An eviction manager without thresholds sleeps until a reload of the configuration wakes it; the period itself is arbitrary. */
const idlePeriodMs = 24 * 60 * 60_000;
/** Between two passes, because pods can cause checks and must not keep the stats thread busy. */
const minIntervalMs = 1000;
/** An eviction under pressure waits at most this long for pods that are evicted for a storage limit: a tenant can create such pods without end. */
const maxLimitsWaitMs = 30_000;

/** The threshold for which a resource is reclaimed and pods are evicted, with all due thresholds and the measurements of the pass that chose it. */
interface ReclaimReason {
  readonly threshold: Threshold;
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly layout: FilesystemLayout;
}

type Reading = PressureResult & { readonly layout: FilesystemLayout; readonly isLayoutKnown: boolean };

/** Assumed until the filesystem of images is measured. */
const oneFilesystem: FilesystemLayout = { dedicatedImageFs: false, splitContainerFs: false };

export class EvictionManager {
  readonly #deps: EvictionManagerDependencies;
  readonly #wakeup: Wakeup;
  readonly #evictor: PodEvictor;
  readonly #reclaimer: NodeReclaimer<ReclaimReason>;
  readonly #thresholds: LayoutThresholds;
  #state = noPressure;
  #isCheckRequested = false;
  /** Since when an eviction under pressure waits for pods that are evicted for a storage limit. Monotonic. */
  #waitingSinceMs: number | null = null;
  #lastPassAtMs: number | null = null;
  /** Why the last pass failed, or which signals were not measured. */
  #problem: string | null = null;

  constructor(dependencies: EvictionManagerDependencies) {
    this.#deps = dependencies;
    const { reclaim: steps, clock, logger } = dependencies;
    this.#wakeup = new Wakeup(clock);
    this.#thresholds = new LayoutThresholds(dependencies.settings);
    this.#evictor = new PodEvictor({ ...dependencies, onAllFinished: () => this.check() });
    this.#reclaimer = new NodeReclaimer({
      steps,
      settle: (reason) => this.#waitForRelease(reason),
      onOver: () => this.#wakeup.wake(),
      clock,
      logger,
    });
  }

  /** Starts a pass soon, with fresh values. Many calls start one pass. */
  check(): void {
    this.#isCheckRequested = true;
    this.#wakeup.wake();
  }

  /** Nothing is left of a pod, whether it was evicted or not. */
  onPodFinished(uid: PodUID): void {
    this.#evictor.onPodFinished(uid);
  }

  /** What a pass would do now, from the last measurements. */
  plan(signal?: EvictionSignal): EvictionPlan {
    const { clock, activePods, readPods } = this.#deps;
    const settings = this.#deps.settings();
    const { state, layout, isLayoutKnown } = this.#read();
    const pods = this.#candidates(activePods());
    return computePlan({
      settings: { ...settings, thresholds: this.#thresholds.list },
      state,
      layout,
      isLayoutKnown,
      pods,
      stats: readPods(pods),
      isEvicted: (uid) => this.#evictor.isEvicted(uid),
      ongoing: this.#ongoing(),
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
    while (!signal.aborted) {
      const { thresholds, localStorageCapacityIsolation } = settings();
      // A changed configuration may add a threshold, or remove the last one and with it the conditions.
      if (thresholds.length === 0 && !localStorageCapacityIsolation && this.#state.conditions.size === 0) {
        await this.#wakeup.next(idlePeriodMs, signal);
        continue;
      }
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
    this.#evictor.update();
    const reclaimedFor = this.#reclaimer.take();
    if (reclaimedFor && (await this.#afterReclaim(reclaimedFor))) return;
    const reading = await this.#readForDecision(isChecked);
    this.#apply(reading);
    await this.#evictForLimits(reading);
    const threshold = this.#chooseThreshold(reading);
    if (!threshold) this.#waitingSinceMs = null;
    else if (!this.#shouldWaitForLimits()) {
      await this.#reclaimResource({
        threshold,
        thresholds: reading.toReclaim,
        observations: reading.state.observations,
        layout: reading.layout,
      });
    }
  }

  /** The tables of the stats thread may be ten seconds old: the node is measured again before a reading leads to an eviction. */
  async #readForDecision(isChecked: boolean): Promise<Reading> {
    let isSampled = isChecked;
    let hasFilesystems = isChecked && isDiskScarce(this.#state);
    if (isChecked) await this.#sample(hasFilesystems);
    for (;;) {
      const reading = this.#read();
      const threshold = this.#chooseThreshold(reading);
      const isDisk = threshold !== undefined && conditionOf(threshold.signal) === 'DiskPressure';
      if (!threshold || (isSampled && (hasFilesystems || !isDisk))) return reading;
      isSampled = true;
      // The runtime is not asked while only memory is scarce: it may be slow for that reason.
      hasFilesystems = isDisk || isDiskScarce(reading.state);
      await this.#sample(hasFilesystems);
    }
  }

  #untilNextPassMs(): number {
    const sampledAtMs = this.#state.observations.get('memory.available')?.atMs ?? -Infinity;
    const untilSampleMs = sampledAtMs + periodMs + sampleLagMs - this.#deps.clock.now();
    return Math.min(periodMs, untilSampleMs > 0 ? untilSampleMs : periodMs);
  }

  async #sample(filesystems: boolean): Promise<void> {
    const { sample, logger } = this.#deps;
    try {
      await sample({ filesystems });
    } catch (err) {
      logger.warn({ err: messageOf(err) }, 'Could not measure the node for evictions, using older values');
    }
  }

  #read(): Reading {
    const { readNode, clock } = this.#deps;
    const { stats, layout } = readNode();
    const observations = observe(stats);
    const known = layout ?? oneFilesystem;
    const inputs = { observations, transitionPeriodMs: this.#deps.settings().pressureTransitionPeriodMs, nowMs: clock.monotonic() };
    const result = computePressure(this.#state, { ...inputs, thresholds: this.#thresholds.for(known) });
    return { ...result, layout: known, isLayoutKnown: layout !== null };
  }

  #apply({ state }: Reading): void {
    const { pressure, logger } = this.#deps;
    this.#state = state;
    if (pressure.set(state.conditions))
      logger.info({ conditions: [...state.conditions] }, 'The pressure conditions of the node have changed');
    const missing = this.#thresholds.list.map(({ signal }) => signal).filter((signal) => !state.observations.has(signal));
    const problem = missing.length === 0 ? null : `no observation of ${[...new Set(missing)].join(', ')}`;
    // No signal is known before the first sample: that is no warning.
    if (problem !== this.#problem && problem && state.observations.size > 0) logger.warn({ problem }, 'Eviction signals are not known');
    this.#problem = problem;
  }

  /** The threshold for which this pass may evict a pod. */
  #chooseThreshold({ toReclaim, layout }: Reading): Threshold | undefined {
    return chooseThreshold(toReclaim, layout, this.#ongoing());
  }

  #ongoing(): Ongoing {
    return {
      isBusy: (cause) => this.#evictor.isBusy(cause),
      canEvict: (pod, cause) => this.#evictor.canEvict(pod, cause),
      isReclaiming: this.#reclaimer.isBusy,
    };
  }

  async #evictForLimits({ layout }: Reading): Promise<void> {
    const { settings, activePods, readPods } = this.#deps;
    const { localStorageCapacityIsolation, memoryVolumesResize } = settings();
    if (!localStorageCapacityIsolation) return;
    const limited = this.#candidates(activePods()).filter((pod) => hasLocalStorageLimit(pod) && this.#evictor.canEvict(pod, 'limit'));
    if (limited.length === 0) return;
    const stats = await readInBatches(limited, readPods);
    for (const pod of limited) {
      const usage = stats(pod);
      const violation = usage && localStorageViolation(pod, usage, { layersOnRootFs: !layout.dedicatedImageFs, memoryVolumesResize });
      if (violation) this.#evictor.evict(localStorageEviction(pod, violation));
    }
  }

  /** Whether an eviction under pressure waits for pods that are evicted for a storage limit: what they free may end the pressure. */
  #shouldWaitForLimits(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    if (!this.#evictor.isBusy('limit')) {
      this.#waitingSinceMs = null;
      return false;
    }
    this.#waitingSinceMs ??= nowMs;
    return nowMs - this.#waitingSinceMs < maxLimitsWaitMs;
  }

  /** Starts node-level reclaim. Evicts a pod at once when no step can free the resource, or when earlier steps still run. */
  async #reclaimResource(reason: ReclaimReason): Promise<void> {
    const { nodeName, events, logger } = this.#deps;
    const { threshold, layout } = reason;
    const resource = resourceOf(threshold.signal);
    logger.info({ resource, signal: threshold.signal }, 'Attempting to reclaim a resource');
    events.record({
      object: nodeReference(nodeName),
      type: 'Warning',
      reason: 'EvictionThresholdMet',
      message: `Attempting to reclaim ${resource}`,
    });
    const steps = nodeReclaimSteps(threshold.signal, layout);
    if (steps.length === 0 || !this.#reclaimer.start(steps, reason)) await this.#evictFor(reason);
  }

  /**
   * Evicts a pod when the resource is still scarce after node-level reclaim. Returns whether the pass ends here. It continues when another resource has
   * become scarce meanwhile, and decides about that resource. Upstream evicts for the first resource then, by its old measurement.
   */
  async #afterReclaim(reason: ReclaimReason): Promise<boolean> {
    const { logger } = this.#deps;
    const { threshold, layout } = reason;
    const met = await this.#measureThresholdsMet();
    const isScarce = met.includes(threshold);
    // A pod may be evicted already, for memory or for another soft threshold.
    if (isScarce && chooseThreshold([threshold], layout, { ...this.#ongoing(), isReclaiming: false })) await this.#evictFor(reason);
    if (isScarce || this.#evictor.isBusy('hard')) return true;
    logger.info({ signal: threshold.signal }, 'Able to reduce resource pressure without evicting pods');
    return met.length === 0;
  }

  #waitForRelease({ threshold }: ReclaimReason): Promise<void> {
    const { containersRemovedAtMs, clock } = this.#deps;
    const isScarce = async () => (await this.#measureThresholdsMet()).includes(threshold);
    return waitForStorageRelease({ removedAtMs: containersRemovedAtMs(), isScarce, clock });
  }

  /** Measures the node. Returns the thresholds that are met, also those above which less is free than their minimum reclaim. */
  async #measureThresholdsMet(): Promise<readonly Threshold[]> {
    await this.#sample(true);
    const { stats, layout } = this.#deps.readNode();
    return thresholdsMet(this.#thresholds.for(layout ?? oneFilesystem), observe(stats), { withMinReclaim: true });
  }

  /** Evicts the first pod in the ranking that can be evicted. */
  async #evictFor({ threshold, thresholds, observations, layout }: ReclaimReason): Promise<void> {
    const { settings, activePods, readPods, clock, logger } = this.#deps;
    const { signal } = threshold;
    const pods = this.#candidates(activePods());
    const stats = await readInBatches(pods, readPods);
    const ranked = rankPods(signal, pods, stats, layout);
    logger.info({ signal, pods: ranked.map(({ pod }) => nameOf(pod)) }, 'Must evict a pod; these are ranked for eviction');
    for (const { signal: measured } of thresholds) {
      const observed = observations.get(measured);
      if (observed) evictionStatsAge.observe(Math.max(0, clock.now() - observed.atMs) / 1000, { eviction_signal: measured });
    }
    const victim = chooseVictim(ranked, threshold, this.#ongoing())?.pod;
    if (!victim) return logger.error({ signal, pods: ranked.length }, 'Unable to evict any pods from the node');
    const { maxPodGracePeriodSeconds } = settings();
    this.#evictor.evict(pressureEviction(victim, stats(victim), { threshold, thresholds, observations, maxPodGracePeriodSeconds }));
  }

  /** Leaves out pods that have not started, or have ended: their eviction frees nothing. */
  #candidates(pods: readonly AllocatedPod[]): AllocatedPod[] {
    return pods.filter((pod) => !this.#deps.isFinished(podUID(pod)));
  }
}

function isDiskScarce({ metSinceMs }: PressureState): boolean {
  return [...metSinceMs.keys()].some(({ signal }) => conditionOf(signal) === 'DiskPressure');
}
