/**
 * Resizes pods in place: allocates the resources that a pod asks for as soon as they fit, and follows the resize until they are in force. A resize that
 * does not fit is deferred, and tried again when other pods may have freed something. Upstream: pkg/kubelet/allocation/allocation_manager.go, SyncPod in
 * pkg/kubelet/kubelet.go.
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { reportFault } from '../../../shared/faults/contain.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { deferredAcceptedResizes, infeasibleResizes, requestedResizes } from '../../../shared/metrics/definitions/resize.ts';
import { nextBackoffMs } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { podReference, type EventSink } from '../../events/index.ts';
import type { AllocatedPod } from '../allocated-pod.ts';
import type { AllocationManager } from '../allocation-manager.ts';
import { infeasibleBecause, type ResizeSettings } from './feasibility.ts';
import { resizeMessage } from './messages.ts';
import { increasesRequests, inOrder } from './order.ts';
import { isResizeInProgress } from './progress.ts';
import { reconstructActuated } from './reconstruct.ts';
import { isSameRequest, requestedChanges } from './requested-changes.ts';
import type { ResizeConditions, Resolution } from './resize-conditions.ts';
import { ResizeTimeline, type ResizePhases } from './resize-timeline.ts';

/** Upstream's labels of pod_deferred_accepted_resizes_total. */
export type RetryTrigger = 'pod_resized' | 'pod_updated' | 'pods_added' | 'pods_removed' | 'pod_terminated' | 'periodic_retry';

/** Upstream's retryDelay. Whatever frees resources tries again at once: this is the safety net. */
const periodMs = 3 * 60_000;
/** The delay of a retry before all sources have reported, and after a checkpoint could not be written. */
const soonMs = 10_000;
/** The delay of the sync that follows an error. Upstream waits 10 s. */
const errorBackoff = { initialMs: 1000, maxMs: 10_000 };

/** The last sync could not bring the resize into force. */
interface ResizeFailure {
  readonly delayMs: number;
  /** A sync that tries again has begun. */
  isRetried: boolean;
}

export interface ResizeManagerDependencies {
  readonly settings: ResizeSettings;
  readonly podLevelResources: boolean;
  readonly allocationManager: Pick<
    AllocationManager,
    'isAdmitted' | 'updatePodFromAllocation' | 'resize' | 'actuated' | 'setActuated' | 'takeUnrecorded'
  >;
  readonly conditions: ResizeConditions;
  /** The pod as its source wants it now; undefined when none does, or when the pod ends. */
  readonly wanted: (uid: PodUID) => Pod | undefined;
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  /** Returns why the pod does not fit beside the others; null when it does. May end others, and calls `onFreed` when they have ended. */
  readonly refusal: (pod: Pod, onFreed: () => void) => { readonly message: string } | null;
  /** Called with the newest version of a pod after an attempt to allocate other resources to it. Its containers get what is allocated. */
  readonly onAllocated: (pod: AllocatedPod) => void;
  /** The conditions of the pod have changed. */
  readonly onConditions: (uid: PodUID) => void;
  /** Syncs the pod after this time. */
  readonly syncAfter: (uid: PodUID, delayMs: number) => void;
  readonly sourcesReady: () => boolean;
  readonly timelines: ResizePhases;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ResizeManager {
  readonly #deps: ResizeManagerDependencies;
  readonly #timeline: ResizeTimeline;
  readonly #pending = new Set<PodUID>();
  /** Pods whose new allocation is being written to the disk. */
  readonly #allocating = new Set<PodUID>();
  readonly #errors = new Map<PodUID, ResizeFailure>();
  #cancelRetry: (() => void) | null = null;

  constructor(dependencies: ResizeManagerDependencies) {
    this.#deps = dependencies;
    this.#timeline = new ResizeTimeline(dependencies.timelines);
  }

  /** A source has a new version of a pod that runs. If this starts an allocation, `onAllocated` follows, even when the allocation fails. */
  onChanged(before: Pod | undefined, pod: Pod): void {
    for (const change of before ? requestedChanges(before, pod) : []) requestedResizes.inc({ ...change });
    // An infeasible resize stays infeasible until the pod asks for other resources.
    if (before && this.#isInfeasible(pod) && isSameRequest(before, pod)) return;
    this.#consider(pod, 'pod_updated');
  }

  /** A pod that was admitted before this kubelet has started, or is admitted now. */
  onAdded(pod: Pod): void {
    const { conditions, allocationManager, runtimeStatus, settings } = this.#deps;
    const uid = podUID(pod);
    conditions.adopt(pod);
    const allocated = allocationManager.updatePodFromAllocation(pod);
    if (allocationManager.takeUnrecorded(uid))
      allocationManager.setActuated(uid, reconstructActuated(pod, allocated, runtimeStatus(uid), settings));
    // The kubelet before this one may have ended between the allocation and its report.
    const isAccepted = isResizeInProgress(allocated, runtimeStatus(uid), allocationManager.actuated(uid), settings.podLevel);
    this.#consider(pod, 'pods_added', isAccepted ? 'accepted' : 'reverted');
  }

  /** Something may have been freed. */
  retry(trigger: RetryTrigger): void {
    const { sourcesReady, conditions, allocationManager, podLevelResources } = this.#deps;
    if (this.#pending.size === 0) return this.#stopRetrying();
    this.#retryWithin(sourcesReady() ? periodMs : soonMs);
    // The pods of a source that has not reported yet are not known, and would not count.
    if (!sourcesReady()) return;
    const candidates = [...this.#pending].flatMap((uid) => {
      const pod = this.#deps.wanted(uid);
      if (!pod) this.#pending.delete(uid);
      if (!pod || this.#allocating.has(uid)) return [];
      return [{ pod, allocated: allocationManager.updatePodFromAllocation(pod), sinceMs: conditions.get(uid)?.pending?.sinceMs }];
    });
    // A resize that does not fit does not hold up those behind it.
    for (const { pod, allocated } of inOrder(candidates, podLevelResources)) this.#try(pod, allocated, trigger);
  }

  /**
   * Updates the conditions of the pod's resize, which its next status shows. Called before and after each sync.
   * @param synced the pod of that sync, which may have begun before the last allocation
   */
  observe(synced: AllocatedPod, status: RuntimePodStatus | null): void {
    const { allocationManager, conditions, settings } = this.#deps;
    const pod = allocationManager.updatePodFromAllocation(synced);
    const uid = podUID(pod);
    const failure = this.#errors.get(uid);
    // The sync that begins now tries again. The condition keeps the error until that sync has ended, even while no container runs.
    if (failure && !failure.isRetried) {
      failure.isRetried = true;
      return;
    }
    const isReported = conditions.get(uid)?.inProgress !== undefined;
    if (isResizeInProgress(pod, status, allocationManager.actuated(uid), settings.podLevel)) {
      // An earlier kubelet has allocated the resize, and ended before it could report the condition.
      if (!isReported) conditions.start(pod);
      return;
    }
    if (!isReported) return;
    this.#errors.delete(uid);
    if (!this.#pending.has(uid)) this.#timeline.end(uid);
    const ended = conditions.clearInProgress(pod);
    if (ended) this.#record(pod, 'Normal', 'ResizeCompleted', resizeMessage('completed', pod, ended.generation));
    // A smaller pod has freed something.
    this.retry('pod_resized');
  }

  /** A sync could not bring a resize into force. Another sync tries again after a back-off. */
  onError(pod: AllocatedPod, error: string): void {
    const uid = podUID(pod);
    const changed = this.#deps.conditions.setError(pod, error);
    if (changed) this.#record(pod, 'Warning', 'ResizeError', resizeMessage('error', pod, changed.generation, error));
    const delayMs = nextBackoffMs(this.#errors.get(uid)?.delayMs, errorBackoff);
    this.#errors.set(uid, { delayMs, isRetried: false });
    this.#deps.syncAfter(uid, delayMs);
  }

  /** The pod has ended, or nothing of it is left: it has no resize any more. Idempotent. */
  forget(uid: PodUID): void {
    this.#pending.delete(uid);
    this.#errors.delete(uid);
    this.#timeline.forget(uid);
    this.#deps.conditions.forget(uid);
  }

  close(): void {
    this.#stopRetrying();
  }

  #isInfeasible(pod: Pod): boolean {
    return this.#deps.conditions.get(podUID(pod))?.pending?.reason === 'Infeasible';
  }

  /** @param ifAllocated how a deferred resize has ended when what the pod asks for is allocated */
  #consider(pod: Pod, trigger: RetryTrigger, ifAllocated: Resolution = 'reverted'): void {
    const { allocationManager, conditions } = this.#deps;
    const uid = podUID(pod);
    if (!allocationManager.isAdmitted(uid)) return;
    if (allocationManager.updatePodFromAllocation(pod) === pod) return this.#settle(pod, ifAllocated);
    this.#pending.add(uid);
    this.#timeline.begin(uid);
    // After a restart of the kubelet, the retry below waits until all sources have reported.
    if (conditions.get(uid)?.pending?.reason === 'Deferred') this.#timeline.waitForRoom(uid);
    this.retry(trigger);
  }

  #try(pod: Pod, allocated: AllocatedPod, trigger: RetryTrigger): void {
    const { settings, refusal } = this.#deps;
    if (allocated === pod) return this.#settle(pod, 'reverted');
    const infeasible = infeasibleBecause(pod, allocated, settings);
    if (infeasible) {
      infeasibleResizes.inc({ reason_detail: infeasible.detail });
      this.#pending.delete(podUID(pod));
      return this.#refuse(pod, 'Infeasible', infeasible.message);
    }
    // Less always fits, also on a node that has become too small for its pods.
    const isMore = increasesRequests(pod, allocated, this.#deps.podLevelResources);
    const refused = isMore ? refusal(pod, () => this.retry('pods_removed')) : null;
    if (refused) return this.#refuse(pod, 'Deferred', refused.message);
    void this.#allocate(pod, trigger);
  }

  #refuse(pod: Pod, reason: 'Deferred' | 'Infeasible', message: string): void {
    if (reason === 'Infeasible') this.#timeline.end(podUID(pod), true);
    else this.#timeline.waitForRoom(podUID(pod));
    const before = this.#deps.conditions.get(podUID(pod))?.pending;
    const isNew = this.#deps.conditions.setPending(pod, reason, message);
    if (isNew) this.#record(pod, 'Warning', `Resize${reason}`, resizeMessage(reason, pod, pod.metadata.generation, message));
    if (isNew || before?.message !== message) this.#deps.onConditions(podUID(pod));
  }

  /** Never rejects. */
  async #allocate(pod: Pod, trigger: RetryTrigger): Promise<void> {
    const { allocationManager, conditions, logger } = this.#deps;
    const uid = podUID(pod);
    this.#allocating.add(uid);
    try {
      await allocationManager.resize(pod);
      this.#allocating.delete(uid);
      if (conditions.get(uid)?.pending?.reason === 'Deferred') deferredAcceptedResizes.inc({ retry_trigger: trigger });
      this.#onDurable(pod);
    } catch (err) {
      this.#allocating.delete(uid);
      logger.error({ podUID: uid, err: messageOf(err) }, 'Could not record the resources of a resized pod');
      this.#refuse(pod, 'Deferred', `cannot record the allocation: ${messageOf(err)}`);
      this.#retryWithin(soonMs);
      this.#deliver(uid);
    }
  }

  #onDurable(pod: Pod): void {
    const { conditions, wanted } = this.#deps;
    const uid = podUID(pod);
    this.#errors.delete(uid);
    this.#timeline.endWait(uid);
    conditions.clearPending(pod, 'accepted');
    conditions.start(pod);
    this.#record(pod, 'Normal', 'ResizeStarted', resizeMessage('started', pod, pod.metadata.generation));
    const newest = wanted(uid);
    this.#pending.delete(uid);
    if (!newest) return;
    this.#deliver(uid);
    if (newest !== pod) this.#consider(newest, 'pod_updated');
    this.retry('pod_resized');
  }

  /** Passes the newest version of the pod to its worker, with the resources that are allocated now. */
  #deliver(uid: PodUID): void {
    const { allocationManager, wanted, onAllocated, logger } = this.#deps;
    const newest = wanted(uid);
    if (!newest) return;
    try {
      onAllocated(allocationManager.updatePodFromAllocation(newest));
    } catch (err) {
      reportFault({ handler: 'resize', logger, fields: { podUID: uid } }, err);
    }
  }

  /** The pod's allocated resources are those that it asks for: no resize is pending any more. */
  #settle(pod: Pod, resolution: Resolution): void {
    const uid = podUID(pod);
    this.#pending.delete(uid);
    if (!this.#deps.conditions.get(uid)?.inProgress) this.#timeline.end(uid);
    if (this.#deps.conditions.clearPending(pod, resolution)) this.#deps.onConditions(uid);
  }

  #stopRetrying(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
  }

  #retryWithin(delayMs: number): void {
    this.#cancelRetry?.();
    this.#cancelRetry = this.#deps.clock.after(delayMs, () => this.retry('periodic_retry'));
  }

  #record(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#deps.events.record({ object: podReference(pod), type, reason, message });
  }
}
