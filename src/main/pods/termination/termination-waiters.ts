/** Waits for pods to terminate, with a timeout. Upstream: the completion channel and the timeout of killPodNow in pkg/kubelet/pod_workers.go. */
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** Upstream's minimum; otherwise the timeout is 1.5 times the grace period. */
const minimumTimeoutMs = 10_000;

/** Upstream's event for a pod that did not terminate in time. */
export const exceededGracePeriod = {
  reason: 'ExceededGracePeriod',
  message: 'Container runtime did not kill the pod within specified grace period.',
} as const;

export class TerminationWaiters {
  readonly #clock: Clock;
  readonly #waiters = new Map<PodUID, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the pod has terminated. Rejects with ExceededGracePeriod after the timeout. */
  wait(uid: PodUID, graceSeconds: number): Promise<void> {
    const timeoutMs = Math.max(minimumTimeoutMs, graceSeconds * 1500);
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters);
      const cancel = this.#clock.after(timeoutMs, () => {
        waiters.delete(finish);
        if (waiters.size === 0) this.#waiters.delete(uid);
        reject(new KubeletError(exceededGracePeriod.reason, `pod ${uid} did not end within ${timeoutMs / 1000} s`));
      });
      const finish = () => {
        cancel();
        resolve();
      };
      waiters.add(finish);
    });
  }

  notifyTerminated(uid: PodUID): void {
    for (const finish of this.#waiters.get(uid) ?? []) finish();
    this.#waiters.delete(uid);
  }
}
