/**
 * Ends pods for reasons of the node: evictions, preemptions, a node shutdown, and active deadlines. Upstream: killPodNow in
 * pkg/kubelet/pod_workers.go and pkg/kubelet/active_deadline.go.
 */
import { contain } from '../../../shared/faults/contain.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { podReference } from '../../events/index.ts';
import type { FailedPod } from '../termination/failed-pod.ts';
import { ActiveDeadlines, deadlineExceeded } from '../termination/active-deadlines.ts';
import { exceededGracePeriod, TerminationWaiters } from '../termination/termination-waiters.ts';
import { podFacts } from '../lifecycle/pod-facts.ts';
import type { PodWorker } from './pod-worker.ts';
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts';

export interface KillPodOptions {
  readonly evicted: boolean;
  readonly gracePeriodOverrideSeconds: number | null;
  /** The pod becomes Failed with this reason. */
  readonly failed?: FailedPod;
}

export class PodKiller {
  readonly #deps: Pick<PodWorkerDependencies, 'events' | 'statuses' | 'logger'>;
  readonly #worker: (uid: PodUID) => PodWorker | undefined;
  readonly #waiters: TerminationWaiters;
  readonly #deadlines: ActiveDeadlines;

  constructor(
    dependencies: Pick<PodWorkerDependencies, 'events' | 'statuses' | 'logger' | 'clock'>,
    worker: (uid: PodUID) => PodWorker | undefined,
  ) {
    this.#deps = dependencies;
    this.#worker = worker;
    this.#waiters = new TerminationWaiters(dependencies.clock);
    this.#deadlines = new ActiveDeadlines({ clock: dependencies.clock, onExceeded: (uid) => this.#onDeadline(uid) });
  }

  /**
   * Ends the pod and waits until none of its containers runs. Rejects with ExceededGracePeriod after 1.5 times the grace period, and no sooner than
   * after 10 s; the termination continues. The status has the reason at once, and its phase when no container runs.
   */
  async kill(uid: PodUID, options: KillPodOptions): Promise<void> {
    const worker = this.#worker(uid);
    if (!worker || worker.lifecycle.state === 'terminated') return;
    const { pod } = worker;
    // A pod that only the runtime knows is terminating already.
    if (pod) this.#end(worker, pod, options);
    const graceSeconds = options.gracePeriodOverrideSeconds ?? pod?.spec.terminationGracePeriodSeconds ?? 0;
    try {
      await this.#waiters.wait(uid, graceSeconds);
    } catch (err) {
      if (pod) this.#deps.events.record({ object: podReference(pod), type: 'Warning', ...exceededGracePeriod });
      throw err;
    }
  }

  /** Starts or updates the active deadline of the pod. An expired deadline ends the pod at once. */
  watchDeadline(pod: Pod, startTime: PodStatus['startTime']): void {
    this.#deadlines.watch(pod, startTime);
  }

  onTerminated(uid: PodUID): void {
    this.#deadlines.forget(uid);
    this.#waiters.notifyTerminated(uid);
  }

  close(): void {
    this.#deadlines.close();
  }

  #end(worker: PodWorker, pod: Pod, { evicted, gracePeriodOverrideSeconds, failed }: KillPodOptions): void {
    if (failed) this.#deps.statuses.setFailed(worker.uid, failed);
    worker.apply({ type: 'killRequested', pod: podFacts(pod), evicted, gracePeriodOverrideSeconds });
    worker.wake();
  }

  #onDeadline(uid: PodUID): void {
    contain({ handler: 'active deadlines', logger: this.#deps.logger, fields: { podUID: uid } }, () => this.#endByDeadline(uid));
  }

  #endByDeadline(uid: PodUID): void {
    const worker = this.#worker(uid);
    if (!worker?.pod || worker.lifecycle.state !== 'syncing') return;
    this.#deps.events.record({ object: podReference(worker.pod), type: 'Normal', ...deadlineExceeded });
    this.#end(worker, worker.pod, { evicted: false, gracePeriodOverrideSeconds: null, failed: deadlineExceeded });
  }
}
