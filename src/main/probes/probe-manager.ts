/**
 * Decides what the probes thread probes, and applies its results. Upstream: pkg/kubelet/prober/prober_manager.go, and the probe results in
 * syncLoopIteration of pkg/kubelet/kubelet.go.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Listeners } from '../../shared/concurrency/listeners.ts';
import type { ProbedContainer, ProbedPod, ProbeEvent, ProbeResult } from '../../shared/contracts/probes.ts';
import type { ProbeVerdicts } from '../../shared/contracts/pod-sync/task.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Container, Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { containerFieldPath } from '../../shared/kubernetes/container-field-path.ts';
import { podUID, type ContainerID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { podReference, SpamFilter, type EventSink } from '../events/index.ts';
import { succeededBefore } from './adopt-results.ts';
import { PostStartHooks } from './post-start-hooks.ts';
import { ProbedPodSender, type ProbesReceiver } from './probed-pod-sender.ts';
import { ProbeResults, type ContainerProbeResults } from './probe-results.ts';
import type { ProbeGates } from './resolve-action.ts';
import { probedContainers, toProbedPod } from './to-probed-pod.ts';

export interface ProbeManagerOptions {
  readonly thread: ProbesReceiver & {
    /** Notified when the thread starts, or starts again: it knows no pod. */
    readonly starts: Listeners;
  };
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  /** Gate ChangeContainerStatusOnKubeletRestart: containers with probes start over when the kubelet restarts. */
  readonly forgetsOnRestart: boolean;
  readonly gates: ProbeGates;
  /** Containers whose postStart hook an earlier kubelet has not ended. Absent: none. */
  readonly unfinishedHooks?: readonly ContainerID[];
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly logger: Logger;
}

export interface GeneratedStatus {
  readonly podIP: string | undefined;
  readonly lifecycle: 'syncing' | 'terminating' | 'terminated';
}

/** The pods that probe results concern. */
export interface AppliedProbeResults {
  /** Pods whose status shows a new result. */
  readonly changed: ReadonlySet<PodUID>;
  /** Pods that need a sync, which restarts a container, or starts the container that follows a sidecar. */
  readonly toSync: ReadonlySet<PodUID>;
}

interface KnownPod {
  readonly pod: Pod;
  /** As it was last sent, without results. */
  readonly probed: ProbedPod;
}

export class ProbeManager {
  readonly #options: ProbeManagerOptions;
  readonly #pods = new Map<PodUID, KnownPod>();
  readonly #results = new ProbeResults();
  readonly #sender: ProbedPodSender;
  readonly hooks: PostStartHooks;
  /** Has the limit of the event recorder, so that events that the recorder would drop cost nothing before. */
  readonly #eventLimit: SpamFilter;

  constructor(options: ProbeManagerOptions) {
    this.#options = options;
    const { thread, clock, logger } = options;
    this.hooks = new PostStartHooks(options.unfinishedHooks);
    this.#eventLimit = new SpamFilter(clock);
    this.#sender = new ProbedPodSender({ thread, probedPod: (uid) => this.#toSend(uid), clock, logger });
    thread.starts.add(() => this.#sender.send(this.#pods.keys()));
  }

  /**
   * Adopts the results of an earlier kubelet, which the previous status shows. Results of this kubelet win. `isLate`: the previous status has just arrived, so the
   * first probes may have failed before. They are begun again, with as many failures as a probe may have.
   */
  adopt(pod: Pod, status: RuntimePodStatus | null, previous: PodStatus, { isLate = false } = {}): void {
    if (this.#options.forgetsOnRestart) return;
    const uid = podUID(pod);
    const adopted = succeededBefore(pod, status, previous).filter(({ id, probe }) => {
      const result = this.#results.get(uid, id)?.[probe];
      return result === undefined || (isLate && result !== 'success');
    });
    for (const { id, probe } of adopted) this.#results.set(uid, id, probe, 'success');
    // The status of a mirror pod may arrive after the static pod was sent to the thread, which then began without these results.
    if (adopted.length > 0 && this.#pods.has(uid)) this.#sender.restart(uid);
  }

  /**
   * Returns the results of an instance. A container that has exited is not ready (upstream: doProbe), even when the published status still shows it as
   * running, as it does while the sync that replaces the container pulls an image, for an hour maybe.
   */
  results(uid: PodUID, id: ContainerID): ContainerProbeResults | undefined {
    const results = this.#results.get(uid, id);
    if (results?.readiness !== 'success') return results;
    const hasExited = this.#options.runtimeStatus(uid)?.containers.some((one) => one.id === id && one.state === 'exited');
    return hasExited ? { ...results, readiness: 'failure' } : results;
  }

  /** The pod's status was generated: probes what runs now. Costs nothing for a pod without probes. */
  onStatusGenerated(pod: Pod, { podIP, lifecycle }: GeneratedStatus): void {
    if (lifecycle === 'terminated') return this.forget(podUID(pod));
    if (probedContainers(pod).length === 0) return;
    const uid = podUID(pod);
    const status = this.#options.runtimeStatus(uid);
    this.#results.keep(uid, new Set(status?.containers.map(({ id }) => id)));
    const hasStartedUp = (id: ContainerID) => this.#results.get(uid, id)?.startup === 'success';
    const isStarting = (container: Container, id: ContainerID) => this.hooks.mayRun(uid, container, id);
    const { gates } = this.#options;
    const probed = toProbedPod({ pod, status, podIP, terminating: lifecycle === 'terminating', gates, hasStartedUp, isStarting });
    const known = this.#pods.get(uid);
    if (!known && probed.containers.length === 0) return;
    const isUnchanged = known && isDeepStrictEqual(known.probed, probed);
    this.#pods.set(uid, { pod, probed: isUnchanged ? known.probed : probed });
    if (!isUnchanged) this.#sender.send([uid]);
  }

  forget(uid: PodUID): void {
    this.#results.remove(uid);
    if (this.#pods.delete(uid)) this.#sender.send([uid]);
  }

  /** Forgets all pods but these. */
  keepOnly(known: ReadonlySet<PodUID>): void {
    for (const uid of new Set([...this.#pods.keys(), ...this.#results.podUIDs()])) if (!known.has(uid)) this.forget(uid);
  }

  /**
   * Results of unknown pods and of containers that run no more are dropped. `unknown` changes nothing: the probe itself failed (upstream throws
   * such a result away).
   */
  apply(results: readonly ProbeResult[]): AppliedProbeResults {
    const changed = new Set<PodUID>();
    const toSync = new Set<PodUID>();
    for (const { podUID: uid, containerID, probe, result } of results) {
      const known = this.#pods.get(uid);
      const container = known?.probed.containers.find(({ id }) => id === containerID);
      if (!known || !container || result === 'unknown') continue;
      // Nothing restarts a container of a terminating pod.
      if (known.probed.terminating && probe !== 'readiness') continue;
      if (!this.#results.set(uid, containerID, probe, result)) continue;
      this.#log(known.pod, container, probe, result);
      if (probe !== 'liveness') changed.add(uid);
      const mustRestart = probe !== 'readiness' && result === 'failure';
      if (mustRestart || (probe === 'startup' && isSidecar(known.pod, container.name))) toSync.add(uid);
    }
    return { changed, toSync };
  }

  /** Returns the results that the pod's next sync acts on; undefined for a pod that is not probed. */
  verdicts(pod: Pod): ProbeVerdicts | undefined {
    return probedContainers(pod).length > 0 ? this.#results.verdicts(podUID(pod)) : undefined;
  }

  /** Whether a container failed a probe for which it is killed. */
  hasFailed(uid: PodUID): boolean {
    return this.#results.hasFailed(uid);
  }

  /** Records events of the thread about their containers. Events of unknown pods are dropped, and those beyond a pod's limit. */
  recordEvents(probeEvents: readonly ProbeEvent[], events: EventSink): void {
    for (const { podUID: uid, container, reason, message } of probeEvents) {
      const pod = this.#pods.get(uid)?.pod;
      if (!pod) continue;
      const fieldPath = containerFieldPath(pod, container);
      if (fieldPath === undefined) continue;
      const event = { object: { ...podReference(pod), fieldPath }, type: 'Warning', reason, message } as const;
      if (this.#eventLimit.admit(event)) events.record(event);
    }
  }

  #toSend(uid: PodUID): ProbedPod | undefined {
    const probed = this.#pods.get(uid)?.probed;
    return probed && { ...probed, containers: probed.containers.map((container) => this.#withResults(uid, container)) };
  }

  #withResults(uid: PodUID, container: ProbedContainer): ProbedContainer {
    const results = this.#results.get(uid, container.id);
    if (!results) return container;
    const probes = container.probes.map((spec) => {
      const lastResult = results[spec.probe];
      return lastResult === undefined ? spec : { ...spec, lastResult };
    });
    return { ...container, probes };
  }

  /** Upstream: handleProbeSync. */
  #log({ metadata }: Pod, { name }: ProbedContainer, probe: ProbeResult['probe'], result: ProbeResult['result']): void {
    const pod = `${metadata.namespace}/${metadata.name}`;
    const status = statusNames[probe][result === 'success' ? 0 : 1];
    this.#options.logger.info({ probe, status, pod, container: name }, 'SyncLoop (probe)');
  }
}

const statusNames = { liveness: ['healthy', 'unhealthy'], readiness: ['ready', 'not ready'], startup: ['started', 'unhealthy'] } as const;

function isSidecar({ spec }: Pod, name: string): boolean {
  return spec.initContainers?.some((container) => container.name === name && isRestartableInitContainer(container)) ?? false;
}
