/**
 * The passes of the eviction manager: each reads the usage, updates the conditions, and decides; the decisions are in the other files of this folder. One
 * pass at a time, every ten seconds, just after the stats thread has sampled, and soon after `check`. A pass waits for nothing but a fresh sample: node-level
 * reclaim and the end of evicted pods go on while passes continue. Upstream: pkg/kubelet/eviction/eviction_manager.go.
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
/** After a sample, until its values are written. */
const sampleLagMs = 250;
/** Until a reload of the configuration wakes an eviction manager without thresholds. */
const idlePeriodMs = 24 * 60 * 60_000;
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
  readonly #evictor: PodEvictor;
  readonly #reclaimer: NodeReclaimer<Starvation>;
  readonly #thresholds: LayoutThresholds;
  #state = noPressure;
  #isCheckRequested = false;
  /** Since when evictions of pods that exceed limits delay an eviction under pressure. Monotonic. */
  #waitingSinceMs: number | null = null;
  #lastPassAtMs: number | null = null;
  #problem: string | null = null;

  constructor(dependencies: EvictionManagerDependencies) {
    this.#deps = dependencies;
    const { reclaim: steps, clock, logger } = dependencies;
    this.#wakeup = new Wakeup(clock);
    this.#thresholds = new LayoutThresholds(dependencies.settings);
    this.#evictor = new PodEvictor({ ...dependencies, onAllFinished: () => this.check() });
    this.#reclaimer = new NodeReclaimer({
      steps,
      settle: (starvation) => this.#waitForRelease(starvation),
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

  /** The tables may be as old as a period: what leads to an eviction is measured again first. */
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
    // Before the first sample nothing is known.
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

  /** What the pods that exceed limits free may suffice. */
  #shouldWaitForLimits(): boolean {
    const nowMs = this.#deps.clock.monotonic();
    if (!this.#evictor.isBusy('limit')) {
      this.#waitingSinceMs = null;
      return false;
    }
    this.#waitingSinceMs ??= nowMs;
    return nowMs - this.#waitingSinceMs < maxLimitsWaitMs;
  }

  async #reclaimResource(starvation: Starvation): Promise<void> {
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
    if (steps.length === 0 || !this.#reclaimer.start(steps, starvation)) await this.#evictFor(starvation);
  }

  /**
   * Evicts a pod when the resource is still scarce. False when another one has become scarce meanwhile: the pass continues, and decides for that one. Upstream
   * evicts for the first resource then, by its old measurement.
   */
  async #afterReclaim(starvation: Starvation): Promise<boolean> {
    const { logger } = this.#deps;
    const { threshold, layout } = starvation;
    const met = await this.#measureThresholdsMet();
    const isScarce = met.includes(threshold);
    // A pod may be evicted already, for memory or for another soft threshold.
    if (isScarce && chooseThreshold([threshold], layout, { ...this.#ongoing(), isReclaiming: false })) await this.#evictFor(starvation);
    if (isScarce || this.#evictor.isBusy('hard')) return true;
    logger.info({ signal: threshold.signal }, 'Able to reduce resource pressure without evicting pods');
    return met.length === 0;
  }

  #waitForRelease({ threshold }: Starvation): Promise<void> {
    const { containersRemovedAtMs, clock } = this.#deps;
    const isScarce = async () => (await this.#measureThresholdsMet()).includes(threshold);
    return waitForStorageRelease({ removedAtMs: containersRemovedAtMs(), isScarce, clock });
  }

  /** Those that are met, or whose minimum reclaim is missed. */
  async #measureThresholdsMet(): Promise<readonly Threshold[]> {
    await this.#sample(true);
    const { stats, layout } = this.#deps.readNode();
    return thresholdsMet(this.#thresholds.for(layout ?? oneFilesystem), observe(stats), { withMinReclaim: true });
  }

  /** Evicts the first pod in the ranking that can be evicted. */
  async #evictFor({ threshold, thresholds, observations, layout }: Starvation): Promise<void> {
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
