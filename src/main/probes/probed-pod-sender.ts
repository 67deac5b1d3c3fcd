/**
 * Sends changed pods to the probes thread. All changes of an iteration of the event loop go in one message, and one message is under way at a
 * time: what changes meanwhile is in the next one.
 */
import type { ProbedPod, ProbesApi } from '../../shared/contracts/probes.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

export type ProbesReceiver = Pick<ProbesApi, 'setPods' | 'removePods'>;

export interface ProbedPodSenderOptions {
  readonly thread: ProbesReceiver;
  /** Returns the pod as it is to be probed now; undefined when it is not known any more. */
  readonly probedPod: (uid: PodUID) => ProbedPod | undefined;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
}

/** After a failed message. A thread that has died gets all pods at its start, and may need no retry. */
const retryMs = 1000;

export class ProbedPodSender {
  readonly #options: ProbedPodSenderOptions;
  #changed = new Set<PodUID>();
  /** Pods whose probes start over, with main's results. */
  #restarted = new Set<PodUID>();
  #isScheduled = false;

  constructor(options: ProbedPodSenderOptions) {
    this.#options = options;
  }

  /** The pods have changed, or are not known any more. */
  send(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#changed.add(uid);
    this.#schedule();
  }

  /** The thread forgets what it knows of the pod, and gets it again. */
  restart(uid: PodUID): void {
    this.#restarted.add(uid);
    this.send([uid]);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#changed.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const { thread } = this.#options;
    const uids = [...this.#changed];
    this.#changed = new Set();
    const restarted = this.#restarted;
    this.#restarted = new Set();
    const pods = uids.map((uid) => [uid, this.#options.probedPod(uid)] as const);
    const removed = pods.flatMap(([uid, pod]) => (!pod || restarted.has(uid) ? [uid] : []));
    const known = pods.flatMap(([, pod]) => (pod ? [pod] : []));
    try {
      await Promise.all([removed.length > 0 && thread.removePods(removed), known.length > 0 && thread.setPods(known)]);
      this.#onFlushed();
    } catch (err) {
      if (err instanceof KubeletError && err.reason === 'ThreadClosed') return;
      this.#options.logger.warn({ err, pods: uids.length }, 'Could not send pods to the probes thread, will try again');
      for (const uid of uids) this.#changed.add(uid);
      this.#options.clock.after(retryMs, () => this.#onFlushed());
    }
  }

  #onFlushed(): void {
    this.#isScheduled = false;
    this.#schedule();
  }
}
