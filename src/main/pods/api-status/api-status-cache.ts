/**
 * Caches the API status of every pod and regenerates it when the pod's runtime status or lifecycle changes. `/pods` and admission read it;
 * the status manager receives each change. A standalone kubelet keeps it in memory only. Upstream: the cache of
 * pkg/kubelet/status/status_manager.go and the reason cache of pkg/kubelet/reason_cache.go.
 */
import { isDeepStrictEqual } from 'node:util';
import { Listeners } from '../../../shared/concurrency/listeners.ts';
import type { ActuatedPod, PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { NodeInfo } from '../../../shared/contracts/node-info.ts';
import type { PodSyncReport, WaitingReason } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain, faultText, reportFault } from '../../../shared/faults/contain.ts';
import type { Pod, PodStatus, VolumeHealthCondition } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { qosClass } from '../../../shared/kubernetes/qos-class.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { podStartDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { generateApiPodStatus, type StatusFeatures } from './generate-api-pod-status.ts';
import { continuedStatus } from './mirror-status.ts';
import { illegalTransition } from './state-transitions.ts';
import { toApiTime } from '../../../shared/kubernetes/api-time.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { previousWaitingReasons } from './previous-waiting-reasons.ts';
import { countTerminations } from './count-terminations.ts';
import { firstSeenMs } from '../first-seen.ts';
import type { FailedPod } from '../termination/failed-pod.ts';
import { isMirrorOf } from '../static/mirror-pod.ts';
import type { AllocatedPod, PodResizeConditions } from '../../allocation/index.ts';
import { haveContainersEnded, type PodLifecycle } from '../lifecycle/pod-lifecycle.ts';
import { isPodRunning } from '../pod-running.ts';
import { withVolumeHealth } from './volume-health.ts';
import type { ProbeManager } from '../../probes/index.ts';

/** A pod's status, with the facts that decide when it may be reported. */
export interface StatusUpdate {
  readonly pod: Pod;
  readonly status: PodStatus;
  /** A container of the pod may still run or be started. Upstream: PodCouldHaveRunningContainers. */
  readonly couldHaveRunningContainers: boolean;
  /** Nothing of the pod is left on this node: its containers, volumes and cgroup are removed. Upstream: podIsFinished. */
  readonly isFinished: boolean;
}

/** Receives each status change. The status manager implements it. */
export interface StatusUpdateSink {
  set(update: StatusUpdate): void;
  /** Writes the pod's pending status without a coalesce delay. */
  expedite(uid: PodUID): void;
}

interface Entry {
  status: PodStatus;
  /** What an earlier kubelet reported, until the runtime's status of the pod is known. */
  reported?: PodStatus | undefined;
  /** Why containers wait, from the last sync that reported it. */
  waiting: PodSyncReport['waiting'];
  /** Where the pod's cgroup is not as it was allocated, from the last sync that read it. */
  podCgroup?: PodCgroupDifference | null;
  couldHaveRunningContainers: boolean;
  isFinished: boolean;
  /** `status` includes what an earlier kubelet reported: the start time and the transition times. */
  hasPreviousStatus: boolean;
  /** `status` is the mirror pod's, and was not regenerated since. */
  isFromMirror?: boolean;
}

export interface ApiStatusCacheDependencies {
  readonly node: () => Pick<NodeInfo, 'hostIPs' | 'runtimeName'>;
  /** A static pod's mirror pod, whose status holds what an earlier kubelet reported if it has the same manifest. */
  readonly mirrorOf: (pod: Pod) => Pod | undefined;
  readonly sink: StatusUpdateSink;
  readonly probes: Pick<ProbeManager, 'adopt' | 'results' | 'hooks' | 'onStatusGenerated'>;
  readonly resizeConditions: { get(uid: PodUID): PodResizeConditions | undefined };
  /** Returns the pod with the resources that are in force. */
  readonly actuatedPod: (pod: AllocatedPod) => ActuatedPod;
  readonly features: StatusFeatures;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ApiStatusCache {
  readonly #entries = new Map<PodUID, Entry>();
  readonly #failed = new Map<PodUID, FailedPod>();
  readonly #listeners = new Listeners<[PodUID]>();
  readonly #deps: ApiStatusCacheDependencies;

  constructor(dependencies: ApiStatusCacheDependencies) {
    this.#deps = dependencies;
  }

  /** The listener is called after each change of a pod's status. Returns a function that removes it. */
  onChange(listener: (uid: PodUID) => void): () => void {
    return this.#listeners.add(listener);
  }

  get(uid: PodUID): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Whether nothing of the pod is left on this node. */
  isFinished(uid: PodUID): boolean {
    return this.#entries.get(uid)?.isFinished ?? false;
  }

  /** Generates the pod's status from its runtime status and caches it. Never throws: a fault here must not stop the pod's sync. */
  regenerate(pod: AllocatedPod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): PodStatus {
    try {
      const generated = this.#regenerate(pod, status, lifecycle);
      contain({ handler: 'probes', logger: this.#deps.logger, fields: { podUID: podUID(pod) } }, () =>
        this.#deps.probes.onStatusGenerated(pod, { podIP: generated.podIP, lifecycle: lifecycle.state }),
      );
      return generated;
    } catch (err) {
      reportFault({ handler: 'pod status', logger: this.#log(pod) }, err);
      return this.setFailedSync(pod, `internal error in pod status: ${faultText(err)}`, lifecycle);
    }
  }

  /** Shows an internal error of the kubelet as the pod's reason until the status is regenerated. */
  setFailedSync(pod: Pod, message: string, lifecycle?: PodLifecycle): PodStatus {
    const entry = this.#entries.get(podUID(pod));
    const previousStatus = entry?.status ?? pod.status ?? {};
    const phase = lifecycle && haveContainersEnded(lifecycle) ? 'Failed' : (previousStatus.phase ?? 'Pending');
    // A terminal status never changes.
    const status = isTerminalPhase(previousStatus.phase) ? previousStatus : { ...previousStatus, phase, reason: 'FailedSync', message };
    this.#set(pod, {
      waiting: {},
      couldHaveRunningContainers: !lifecycle || !haveContainersEnded(lifecycle),
      isFinished: false,
      hasPreviousStatus: true,
      ...entry,
      status,
    });
    return status;
  }

  #regenerate(pod: AllocatedPod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): PodStatus {
    const uid = podUID(pod);
    const entry = this.#entries.get(uid);
    const previousStatus = entry?.status ?? this.#reportedStatus(pod);
    const next = this.#generate(pod, status, lifecycle, entry);
    const problem = illegalTransition(previousStatus, next, pod.spec, this.#deps.features.restartGates);
    if (problem !== null) {
      this.#log(pod).error({ err: problem }, 'Status update on pod aborted');
      return previousStatus ?? next;
    }
    const couldHaveRunningContainers = !haveContainersEnded(lifecycle) && (lifecycle.started || isPodRunning(status));
    if (entry && entry.couldHaveRunningContainers === couldHaveRunningContainers && isDeepStrictEqual(entry.status, next)) {
      return entry.status;
    }
    countTerminations(previousStatus, next);
    if (previousStatus?.phase !== next.phase) this.#onPhaseChanged(pod, entry?.status.phase, next.phase);
    const defaults = {
      waiting: previousWaitingReasons(previousStatus),
      isFinished: false,
      hasPreviousStatus: previousStatus?.startTime !== undefined,
      reported: previousStatus,
    };
    this.#set(pod, {
      ...defaults,
      ...entry,
      status: next,
      couldHaveRunningContainers,
      isFromMirror: false,
      ...(status && { reported: undefined }),
    });
    return next;
  }

  /**
   * Records that nothing of the pod is left on this node. A terminal status without running containers is kept, even one from an earlier
   * kubelet. Upstream: TerminatePod.
   */
  markFinished(pod: AllocatedPod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): void {
    const uid = podUID(pod);
    const current = this.get(uid) ?? pod.status;
    const isFinal = isTerminalPhase(current?.phase) && !current.containerStatuses?.some(({ state }) => state?.running);
    const lastStatus = isFinal ? current : this.regenerate(pod, status, lifecycle);
    this.#set(pod, {
      waiting: {},
      hasPreviousStatus: true,
      ...this.#entries.get(uid),
      status: lastStatus,
      couldHaveRunningContainers: false,
      isFinished: true,
    });
  }

  /** Sets the waiting reasons from the pod's last sync, for the next `regenerate`. Returns false when nothing changed. */
  setWaitingReasons(uid: PodUID, waiting: PodSyncReport['waiting']): boolean {
    const entry = this.#entries.get(uid);
    if (!entry || isDeepStrictEqual(entry.waiting, waiting)) return false;
    entry.waiting = waiting;
    return true;
  }

  /** Sets what the last sync has read of the pod's cgroup, for the next `regenerate`. Returns false when nothing changed. */
  setPodCgroup(uid: PodUID, podCgroup: PodCgroupDifference | null): boolean {
    const entry = this.#entries.get(uid);
    if (!entry || isDeepStrictEqual(entry.podCgroup ?? null, podCgroup)) return false;
    entry.podCgroup = podCgroup;
    return true;
  }

  /** Shows the health of a volume of the pod, as its driver reports it. Does nothing for a pod without a status. */
  setVolumeHealth(pod: Pod, volumeName: string, conditions: readonly VolumeHealthCondition[]): void {
    const entry = this.#entries.get(podUID(pod));
    if (!entry) return;
    const { status } = entry;
    const volumeHealth = withVolumeHealth(status.volumeHealth, volumeName, conditions, toApiTime(this.#deps.clock.now()));
    if (volumeHealth && volumeHealth !== status.volumeHealth) this.#set(pod, { ...entry, status: { ...status, volumeHealth } });
  }

  /** Sets one container's waiting reason during a sync. */
  addWaitingReason(uid: PodUID, container: string, waitingReason: WaitingReason): boolean {
    return this.setWaitingReasons(uid, { ...this.#entries.get(uid)?.waiting, [container]: waitingReason });
  }

  /** Publishes the pod's status without a coalesce delay. */
  expedite(uid: PodUID): void {
    contain({ handler: 'status manager', logger: this.#deps.logger }, () => this.#deps.sink.expedite(uid));
  }

  /** Makes the pod Failed with this reason from the next `regenerate` on. */
  setFailed(uid: PodUID, failed: FailedPod): void {
    this.#failed.set(uid, failed);
  }

  /** Sets the final status of a pod that was not admitted. Upstream: rejectPod. */
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
    this.#set(pod, { status, waiting: {}, couldHaveRunningContainers: false, isFinished: false, hasPreviousStatus: true });
  }

  /**
   * Adopts the status of a mirror pod that arrives after the static pod's first status of this kubelet: the start time and the transition
   * times persist. Returns true when the caller must regenerate the status.
   */
  adoptMirrorStatus(uid: PodUID, mirrorStatus: PodStatus | undefined): boolean {
    const entry = this.#entries.get(uid);
    const status = continuedStatus(mirrorStatus);
    if (!entry || entry.hasPreviousStatus || status?.startTime === undefined) return false;
    entry.hasPreviousStatus = true;
    entry.isFromMirror = true;
    entry.status = status;
    entry.reported = status;
    return true;
  }

  forget(uid: PodUID): void {
    this.#entries.delete(uid);
    this.#failed.delete(uid);
  }

  /** Forgets all pods but these. */
  keepOnly(known: ReadonlySet<PodUID>): void {
    for (const uid of this.#entries.keys()) if (!known.has(uid)) this.forget(uid);
  }

  #generate(pod: AllocatedPod, status: RuntimePodStatus | null, lifecycle: PodLifecycle, entry: Entry | undefined): PodStatus {
    const { node, clock, features, probes } = this.#deps;
    const failed = this.#failed.get(podUID(pod));
    const { resizeConditions, actuatedPod } = this.#deps;
    const resize = resizeConditions.get(podUID(pod));
    const mirrorStatus = entry ? undefined : this.#mirrorStatus(pod);
    const previousStatus = entry?.status ?? this.#reportedStatus(pod);
    const isLate = entry?.isFromMirror === true && entry.reported !== undefined;
    if (previousStatus) probes.adopt(pod, status, entry?.reported ?? previousStatus, { isLate });
    return generateApiPodStatus({
      pod,
      status,
      previous: entry?.status ?? mirrorStatus,
      isPreviousFromMirror: entry?.isFromMirror ?? mirrorStatus !== undefined,
      // The waiting reasons from an earlier kubelet hold until a sync of this kubelet reports its own.
      waiting: entry?.waiting ?? previousWaitingReasons(this.#reportedStatus(pod)),
      probeResults: (id) => probes.results(podUID(pod), id),
      isStarting: (container, id) => probes.hooks.mayRun(podUID(pod), container, id),
      node: node(),
      ...(resize && { resize }),
      actuated: actuatedPod(pod),
      ...(entry?.podCgroup && { podCgroup: entry.podCgroup }),
      ...features,
      lifecycle: {
        terminating: lifecycle.state !== 'syncing',
        ended: haveContainersEnded(lifecycle),
        ...(failed ? { failed } : {}),
      },
      nowMs: clock.now(),
    });
  }

  /** The status in the API server of a pod that the cache does not have. */
  #reportedStatus(pod: Pod): PodStatus | undefined {
    return this.#mirrorStatus(pod) ?? pod.status;
  }

  #mirrorStatus(pod: Pod): PodStatus | undefined {
    const mirror = this.#deps.mirrorOf(pod);
    return mirror && isMirrorOf(mirror, pod) ? continuedStatus(mirror.status) : undefined;
  }

  #set(pod: Pod, entry: Entry): void {
    this.#entries.set(podUID(pod), entry);
    const { status, couldHaveRunningContainers, isFinished } = entry;
    contain({ handler: 'status manager', logger: this.#deps.logger }, () => {
      this.#deps.sink.set({ pod, status, couldHaveRunningContainers, isFinished });
      this.#listeners.notify(podUID(pod));
    });
  }

  #onPhaseChanged(pod: Pod, from: string | undefined, to: string | undefined): void {
    this.#log(pod).info({ from, to }, 'Pod phase changed');
    const seenAtMs = firstSeenMs(pod);
    // The entry's phase is undefined for pods that an earlier kubelet started: they are not observed.
    if (from === 'Pending' && to === 'Running' && seenAtMs > 0) {
      podStartDuration.observe((this.#deps.clock.now() - seenAtMs) / 1000);
    }
  }

  #log(pod: Pod): Logger {
    const { namespace, name, uid } = pod.metadata;
    return this.#deps.logger.child({ pod: `${namespace}/${name}`, podUID: uid });
  }
}
