/**
 * The API status of every pod, made anew whenever more is known of it: what `/pods` shows, what admission looks at, and what the
 * status manager will send to the API server. Standalone, it is kept in memory alone. Upstream: the cache of
 * pkg/kubelet/status/status_manager.go and the reason cache of pkg/kubelet/reason_cache.go.
 */
import { isDeepStrictEqual } from 'node:util';
import type { NodeFacts } from '../../shared/contracts/node-facts.ts';
import type { PodSyncReport } from '../../shared/contracts/pod-sync.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { qosClass } from '../../shared/kubernetes/qos-class.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { podStartDuration } from '../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { generateApiPodStatus } from './api-status/index.ts';
import { toApiTime } from './api-status/time.ts';
import { countTerminations } from './count-terminations.ts';
import { firstSeenMs } from './first-seen.ts';
import type { PodLifecycle } from './pod-lifecycle.ts';

export interface FailedPod {
  readonly reason: string;
  readonly message: string;
}

interface Entry {
  status: PodStatus;
  /** Why containers do not run, from the last task that said so. */
  waiting: PodSyncReport['waiting'];
  /** It ends as Failed for this reason, whatever its containers say. */
  failed?: FailedPod;
}

export interface PodStatusesDependencies {
  readonly node: () => Pick<NodeFacts, 'hostIPs' | 'runtimeName'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PodStatuses {
  readonly #entries = new Map<PodUID, Entry>();
  readonly #deps: PodStatusesDependencies;

  constructor(dependencies: PodStatusesDependencies) {
    this.#deps = dependencies;
  }

  get(uid: PodUID): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Makes the pod's status anew from what the runtime says now, and keeps it. */
  refresh(pod: Pod, status: RuntimePodStatus | null, lifecycle: PodLifecycle): PodStatus {
    const uid = podUID(pod);
    const entry = this.#entries.get(uid);
    const { node, clock, logger } = this.#deps;
    const next = generateApiPodStatus({
      pod,
      status,
      previous: entry?.status,
      waiting: entry?.waiting ?? {},
      node: node(),
      lifecycle: {
        terminating: lifecycle.state !== 'syncing',
        terminated: lifecycle.state === 'terminated',
        ...(entry?.failed ? { failed: entry.failed } : {}),
      },
      nowMs: clock.now(),
    });
    if (entry && isDeepStrictEqual(entry.status, next)) return entry.status;
    countTerminations(entry?.status, next);
    if (entry?.status.phase !== next.phase) {
      const { namespace, name } = pod.metadata;
      logger.info({ pod: `${namespace}/${name}`, podUID: uid, from: entry?.status.phase, to: next.phase }, 'Pod phase changed');
      const seenAtMs = firstSeenMs(pod);
      // A pod that runs since before this kubelet started was not started by it.
      if (entry?.status.phase === 'Pending' && next.phase === 'Running' && seenAtMs > 0) {
        podStartDuration.observe((clock.now() - seenAtMs) / 1000);
      }
    }
    if (entry) entry.status = next;
    else this.#entries.set(uid, { status: next, waiting: {} });
    return next;
  }

  /** What the last task said of the containers that do not run. Takes effect with the next refresh. */
  setWaiting(uid: PodUID, waiting: PodSyncReport['waiting']): void {
    const entry = this.#entries.get(uid);
    if (entry) entry.waiting = waiting;
  }

  /** From the next refresh on the pod is Failed for this reason (an eviction). */
  setFailed(uid: PodUID, failed: FailedPod): void {
    const entry = this.#entries.get(uid);
    if (entry) entry.failed = failed;
  }

  /** A pod that was not admitted: it never runs. Upstream: rejectPod. */
  reject(pod: Pod, { reason, message }: FailedPod): void {
    const startTime = toApiTime(this.#deps.clock.now());
    const status: PodStatus = { phase: 'Failed', reason, message: `Pod was rejected: ${message}`, startTime, qosClass: qosClass(pod) };
    this.#entries.set(podUID(pod), { status, waiting: {} });
  }

  forget(uid: PodUID): void {
    this.#entries.delete(uid);
  }

  /** Those of which a status is kept. */
  uids(): IterableIterator<PodUID> {
    return this.#entries.keys();
  }
}
