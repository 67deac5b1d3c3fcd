/**
 * Measures the start latency of pods as the scalability SLI of Kubernetes defines it: from a pod's creation until a watch shows all of its
 * containers running, with and without the time of image pulls and init containers. Only pods from the API server that are new to this kubelet
 * count: the start time of a static pod, and of a pod that an earlier kubelet started, is unknown. Upstream:
 * pkg/kubelet/util/pod_startup_latency_tracker.go.
 */
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import { firstNetworkPodStartSliDuration, podStartSliDuration, podStartTotalDuration } from '../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { PodManager } from './pod-manager.ts';
import { isStaticPod } from '../../shared/kubernetes/static-pod.ts';

export interface PodStartLatencyDependencies {
  readonly podManager: Pick<PodManager, 'onChange'>;
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  readonly clock: Clock;
}

/** Monotonic ms. */
export interface LatencySpan {
  readonly startMs: number;
  readonly endMs: number;
}

/** Bounds the memory of a pod whose image pull fails for days. */
const maxPulls = 1000;

/** Volume sources of a pod that is stateless by definition of the SLI. */
const statelessSources = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'] as const;

export class PodStartLatency {
  readonly #deps: PodStartLatencyDependencies;
  /** The image pulls of each pod that has not started yet. */
  readonly #starting = new Map<PodUID, LatencySpan[]>();
  readonly #known = new Set<PodUID>();
  #hasSeenNetworkPod = false;

  constructor(dependencies: PodStartLatencyDependencies) {
    this.#deps = dependencies;
    dependencies.podManager.onChange((pod, change) => (change === 'set' ? this.#onSet(pod) : this.#forget(podUID(pod))));
  }

  /** Calls `pull` and subtracts its duration from the pod's start latency. */
  async measurePull<T>(uid: PodUID, pull: () => Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const startMs = clock.monotonic();
    try {
      return await pull();
    } finally {
      const pulls = this.#starting.get(uid);
      if (pulls && pulls.length < maxPulls) pulls.push({ startMs, endMs: clock.monotonic() });
    }
  }

  #onSet(pod: Pod): void {
    const uid = podUID(pod);
    if (!this.#known.has(uid)) {
      this.#known.add(uid);
      if (pod.status?.startTime === undefined && !isStaticPod(pod)) this.#starting.set(uid, []);
    }
    if (isTerminalPhase(pod.status?.phase) || isUnschedulable(pod)) this.#starting.delete(uid);
    const pulls = this.#starting.get(uid);
    if (!pulls || !hasStarted(pod)) return;
    this.#starting.delete(uid);
    this.#observe(pod, pulls);
  }

  #observe(pod: Pod, pulls: readonly LatencySpan[]): void {
    const { clock, runtimeStatus } = this.#deps;
    const totalMs = clock.now() - Date.parse(pod.metadata.creationTimestamp ?? '');
    // Negative when the node's clock is behind the API server's clock; NaN without a creation timestamp.
    if (!(totalMs >= 0)) return;
    podStartTotalDuration.observe(totalMs / 1000);
    if (isStateful(pod)) return;
    const sliMs = Math.max(0, totalMs - coveredMs(pulls) - initContainersMs(pod, runtimeStatus(podUID(pod))));
    podStartSliDuration.observe(sliMs / 1000);
    if (pod.spec.hostNetwork || this.#hasSeenNetworkPod) return;
    this.#hasSeenNetworkPod = true;
    firstNetworkPodStartSliDuration.set(sliMs / 1000);
  }

  #forget(uid: PodUID): void {
    this.#known.delete(uid);
    this.#starting.delete(uid);
  }
}

/** Returns the time covered by the spans. Time in which spans overlap counts once. */
export function coveredMs(spans: readonly LatencySpan[]): number {
  let coveredUntilMs = -Infinity;
  let sumMs = 0;
  for (const { startMs, endMs } of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    sumMs += Math.max(0, endMs - Math.max(startMs, coveredUntilMs));
    coveredUntilMs = Math.max(coveredUntilMs, endMs);
  }
  return sumMs;
}

/** Sidecars do not count: they start together with the other containers. */
function initContainersMs({ spec }: Pod, status: RuntimePodStatus | null): number {
  const names = new Set(spec.initContainers?.filter(({ restartPolicy }) => restartPolicy !== 'Always').map(({ name }) => name));
  const exitedContainers = status?.containers.filter(({ name, state }) => names.has(name) && state === 'exited') ?? [];
  return exitedContainers.reduce((sum, { startedAtMs, finishedAtMs }) => sum + Math.max(0, finishedAtMs - startedAtMs), 0);
}

function hasStarted({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return statuses.length >= spec.containers.length && statuses.every(({ state }) => state?.running?.startedAt !== undefined);
}

function isUnschedulable({ status }: Pod): boolean {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' && scheduled.reason === 'Unschedulable';
}

function isStateful({ spec }: Pod): boolean {
  return spec.volumes?.some((volume) => !statelessSources.some((source) => volume[source])) ?? false;
}
