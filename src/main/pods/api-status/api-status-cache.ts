/**
 * The API status of every pod, made anew whenever more is known of it: what `/pods` shows, what admission looks at, and what the
 * status manager sends to the API server, to which each change is handed on. Standalone, it is kept in memory alone. Upstream: the cache of
 * pkg/kubelet/status/status_manager.go and the reason cache of pkg/kubelet/reason_cache.go.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeFacts } from '../../../shared/contracts/node-facts.ts';
import type { PodSyncReport, WaitingReason } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain, faultText, reportFault } from '../../../shared/errors/contain.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { pendingResizes, podStartDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { generateApiPodStatus, type StatusFeatures } from './generate-api-pod-status.ts';
import { isTerminalPhase } from './phase.ts';
import { illegalTransition } from './state-transitions.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import { waitingReasonsIn } from './waiting-reasons.ts';
import { countTerminations } from './count-terminations.ts';
import { firstSeenMs } from '../first-seen.ts';
import { isMirrorOf } from '../static/mirror-pod.ts';
import type { PendingResize } from '../admission/pending-resize.ts';
import { hasEnded, type PodLifecycle } from '../workers/pod-lifecycle.ts';
import { isPodRunning } from '../pod-running.ts';

export interface FailedPod {
  readonly reason: string;
  readonly message: string;
  /** The pod is disrupted, not at fault: what its condition DisruptionTarget says. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}

/** A pod's status with what decides when it may be told. */
export interface StatusUpdate {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** One of its containers may still run, or will. */
  readonly couldHaveRunningContainers: boolean;
  /** Nothing is left of it on this node: containers, volumes and cgroup are gone. */
  readonly isFinished: boolean;
}

/** Who is told of each change: the status manager. */
export interface StatusUpdateSink {
  set(update: StatusUpdate): void;
  /** The pod is in trouble: what was set of it does not wait for a change that follows. */
  expedite(uid: PodUID): void;
  /** Nothing is known of the pod any more. */
  forget(uid: PodUID): void;
}

interface Entry {
  status: PodStatus;
  /** Why containers do not run, from the last task that said so. */
  waiting: PodSyncReport['waiting'];
  mayRun: boolean;
  isFinished: boolean;
  /** What was known of the pod before this kubelet has gone into it. */
  isBased: boolean;
  /** `status` was read from the mirror pod, and was not made anew since. */
  isOfMirror?: boolean;
}

export interface ApiStatusCacheDependencies {
  readonly node: () => Pick<NodeFacts, 'hostIPs' | 'runtimeName'>;
  /** A static pod's mirror in the API server: if it is of the same manifest, what an earlier kubelet said of the pod is there. */
  readonly mirrorOf?: (pod: Pod) => Pod | undefined;
  readonly sink?: StatusUpdateSink;
  /** Absent: as in v1.36 by default. */
  readonly features?: StatusFeatures;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ApiStatusCache {
  readonly #entries = new Map<PodUID, Entry>();
  readonly #failed = new Map<PodUID, FailedPod>();
  readonly #pendingResizes = new Map<PodUID, PendingResize>();
  readonly #deps: ApiStatusCacheDependencies;

  constructor(dependencies: ApiStatusCacheDependencies) {
    this.#deps = dependencies;
  }

  get(uid: PodUID): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Makes the pod's status anew from what the runtime says now, and keeps it. Never throws: a pod's life goes on without its status. */
  regenerate(pod: Pod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): PodStatus {
    try {
      return this.#refresh(pod, status, lifecycle);
    } catch (err) {
      reportFault({ handler: 'pod status', logger: this.#log(pod) }, err);
      return this.setFailedSync(pod, `internal error in pod status: ${faultText(err)}`, lifecycle);
    }
  }

  /** Something went wrong in the kubelet itself: the pod's status says so until it is made anew. */
  setFailedSync(pod: Pod, message: string, lifecycle?: PodLifecycle): PodStatus {
    const entry = this.#entries.get(podUID(pod));
    const before = entry?.status ?? pod.status ?? {};
    const phase = lifecycle && hasEnded(lifecycle) ? 'Failed' : (before.phase ?? 'Pending');
    // How a pod has ended is not said anew.
    const status = isTerminalPhase(before.phase) ? before : { ...before, phase, reason: 'FailedSync', message };
    this.#keep(pod, { waiting: {}, mayRun: !lifecycle || !hasEnded(lifecycle), isFinished: false, isBased: true, ...entry, status });
    return status;
  }

  #refresh(pod: Pod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): PodStatus {
    const uid = podUID(pod);
    const entry = this.#entries.get(uid);
    const before = entry?.status ?? this.#known(pod);
    const next = this.#generate(pod, status, lifecycle, entry);
    const problem = illegalTransition(before, next, pod.spec);
    if (problem !== null) {
      this.#log(pod).error({ err: problem }, 'Status update on pod aborted');
      return before ?? next;
    }
    const mayRun = !hasEnded(lifecycle) && (lifecycle.started || isPodRunning(status));
    if (entry && entry.mayRun === mayRun && isDeepStrictEqual(entry.status, next)) return entry.status;
    countTerminations(before, next);
    if (before?.phase !== next.phase) this.#onPhase(pod, entry?.status.phase, next.phase);
    const fresh = { waiting: waitingReasonsIn(before), isFinished: false, isBased: before?.startTime !== undefined };
    this.#keep(pod, { ...fresh, ...entry, status: next, mayRun, isOfMirror: false });
    return next;
  }

  /** Nothing is left of the pod on this node. Its status is as it was said last, also by an earlier kubelet, if that was the last word. */
  markFinished(pod: Pod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): void {
    const uid = podUID(pod);
    const known = this.get(uid) ?? pod.status;
    const isLastWord = isTerminalPhase(known?.phase) && !known.containerStatuses?.some(({ state }) => state?.running);
    const last = isLastWord ? known : this.regenerate(pod, status, lifecycle);
    this.#keep(pod, { waiting: {}, isBased: true, ...this.#entries.get(uid), status: last, mayRun: false, isFinished: true });
  }

  /** What the last task said of the containers that do not run. Takes effect with the next refresh. False: it was known. */
  setWaitingReasons(uid: PodUID, waiting: PodSyncReport['waiting']): boolean {
    const entry = this.#entries.get(uid);
    if (!entry || isDeepStrictEqual(entry.waiting, waiting)) return false;
    entry.waiting = waiting;
    return true;
  }

  /** The same of one container, while the task goes on. */
  addWaitingReason(uid: PodUID, container: string, why: WaitingReason): boolean {
    return this.setWaitingReasons(uid, { ...this.#entries.get(uid)?.waiting, [container]: why });
  }

  /** The pod is in trouble: its status is published without delay. */
  expedite(uid: PodUID): void {
    contain({ handler: 'status manager', logger: this.#deps.logger }, () => this.#deps.sink?.expedite(uid));
  }

  /** From the next refresh on the pod is Failed for this reason (an eviction, a deadline). */
  setFailed(uid: PodUID, failed: FailedPod): void {
    this.#failed.set(uid, failed);
  }

  /** From the next refresh on the pod has this resize pending, or none. True: another one than before. */
  setPendingResize(uid: PodUID, pending: PendingResize | null): boolean {
    const isNews = this.#pendingResizes.get(uid)?.desired !== pending?.desired;
    if (pending) this.#pendingResizes.set(uid, pending);
    else this.#pendingResizes.delete(uid);
    if (isNews) pendingResizes.set(this.#pendingResizes.size, { reason: 'infeasible' });
    return isNews;
  }

  /** A pod that was not admitted: it never runs. Upstream: rejectPod. */
  reject(pod: Pod, { reason, message }: FailedPod): void {
    const startTime = toApiTime(this.#deps.clock.now());
    const { generation } = pod.metadata;
    const status: PodStatus = {
      ...(generation ? { observedGeneration: generation } : {}),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
      startTime,
      qosClass: qosClass(pod),
    };
    this.#keep(pod, { status, waiting: {}, mayRun: false, isFinished: false, isBased: true });
  }

  /**
   * What an earlier kubelet said of a static pod has come after this one's first word: start time and transition times hold on. True when
   * the status is to be made anew.
   */
  adoptMirrorStatus(uid: PodUID, known: PodStatus | undefined): boolean {
    const entry = this.#entries.get(uid);
    if (!entry || entry.isBased || known?.startTime === undefined) return false;
    entry.isBased = true;
    entry.isOfMirror = true;
    entry.status = known;
    return true;
  }

  forget(uid: PodUID): void {
    this.#entries.delete(uid);
    this.#failed.delete(uid);
    this.setPendingResize(uid, null);
    this.#deps.sink?.forget(uid);
  }

  /** Those of which a status is kept. */
  uids(): IterableIterator<PodUID> {
    return this.#entries.keys();
  }

  #generate(pod: Pod, status: RuntimePodStatus | null, lifecycle: PodLifecycle, entry: Entry | undefined): PodStatus {
    const { node, clock, features } = this.#deps;
    const failed = this.#failed.get(podUID(pod));
    const pendingResize = this.#pendingResizes.get(podUID(pod));
    const mirrored = entry ? undefined : this.#mirrored(pod);
    return generateApiPodStatus({
      pod,
      status,
      previous: entry?.status ?? mirrored,
      isPreviousOfMirror: entry?.isOfMirror ?? mirrored !== undefined,
      // What an earlier kubelet said holds until a task of this one has tried.
      waiting: entry?.waiting ?? waitingReasonsIn(this.#known(pod)),
      node: node(),
      ...(pendingResize && { pendingResize }),
      ...features,
      lifecycle: {
        terminating: lifecycle.state !== 'syncing',
        ended: hasEnded(lifecycle),
        ...(failed ? { failed } : {}),
      },
      nowMs: clock.now(),
    });
  }

  /** What the API server has of a pod of which nothing was said yet. */
  #known(pod: Pod): PodStatus | undefined {
    return this.#mirrored(pod) ?? pod.status;
  }

  #mirrored(pod: Pod): PodStatus | undefined {
    const mirror = this.#deps.mirrorOf?.(pod);
    return mirror && isMirrorOf(mirror, pod) ? mirror.status : undefined;
  }

  #keep(pod: Pod, entry: Entry): void {
    this.#entries.set(podUID(pod), entry);
    const { status, mayRun, isFinished } = entry;
    contain({ handler: 'status manager', logger: this.#deps.logger }, () =>
      this.#deps.sink?.set({ pod, status, couldHaveRunningContainers: mayRun, isFinished }),
    );
  }

  #onPhase(pod: Pod, from: string | undefined, to: string | undefined): void {
    this.#log(pod).info({ from, to }, 'Pod phase changed');
    const seenAtMs = firstSeenMs(pod);
    // A pod that runs since before this kubelet started was not started by it.
    if (from === 'Pending' && to === 'Running' && seenAtMs > 0) {
      podStartDuration.observe((this.#deps.clock.now() - seenAtMs) / 1000);
    }
  }

  #log(pod: Pod): Logger {
    const { namespace, name, uid } = pod.metadata;
    return this.#deps.logger.child({ pod: `${namespace}/${name}`, podUID: uid });
  }
}
