/**
 * The changes of pods, for the server thread's pods API. Costs nothing without a receiver. Keeps only the UIDs of changed pods: the receiver gets
 * the current version of each pod at its next call. While a receiver stalls, only the UIDs of the pods that come and go accumulate.
 */
import type { PodChanges, PodState } from '../../shared/contracts/server/pods.ts';
import { contain } from '../../shared/faults/contain.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { ApiStatusCache } from '../pods/api-status/index.ts';
import type { PodManager } from '../pods/pod-manager.ts';
import { isPodReady } from '../../shared/kubernetes/ready-condition.ts';
import { isMirrorPod } from '../../shared/kubernetes/static-pod.ts';
import { effectiveStatus } from './effective-status.ts';

export interface PodFeedDependencies {
  readonly podManager: Pick<PodManager, 'all' | 'get' | 'onChange'>;
  readonly statuses: Pick<ApiStatusCache, 'get' | 'isFinished'>;
  readonly sourcesReady: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Below the server thread's deadline of 10 s. */
const maxWaitMs = 5_000;
/** The longest wait for a change until the pods are ready to be shown: nothing notifies when they become ready. */
const maxWaitUntilReadyMs = 100;
/** How long pods that the API server has as ready may wait for a status of this kubelet before they are shown as not ready. */
const maxUnverifiedMs = 5_000;
/** A receiver that has not asked for this long is gone. */
const forgetAfterMs = 30_000;
/** Serializing a pod takes 40 µs. */
const maxPodsPerReply = 50;
/** In characters of JSON. The last pod of a reply may exceed the limit. */
const maxReplyLength = 1024 * 1024;

export class PodFeed {
  readonly #deps: PodFeedDependencies;
  /** The cursor of the receiver that is followed; 0: none. */
  #cursor = 0;
  #lastCursor = 0;
  readonly #changed = new Set<PodUID>();
  #repliedAtMs = 0;
  /** Ends the wait of the receiver's call. Null: no call waits. */
  #answer: (() => void) | null = null;
  /** When all sources had reported; null before. */
  #sourcesReadyAtMs: number | null = null;
  #isReady = false;

  constructor(dependencies: PodFeedDependencies) {
    this.#deps = dependencies;
    dependencies.podManager.onChange((pod) => {
      if (!isMirrorPod(pod)) this.onChanged(podUID(pod));
    });
  }

  /** Called when the pod or its status has changed. */
  onChanged(uid: PodUID): void {
    if (this.#cursor === 0) return;
    if (!this.#answer && this.#deps.clock.monotonic() - this.#repliedAtMs > forgetAfterMs) return this.#forget();
    this.#changed.add(uid);
    this.#answer?.();
  }

  /** See MainApi.podChanges. There is one receiver: a new one takes the place of the one before. */
  async next(cursor: number | null): Promise<PodChanges> {
    this.#answer?.();
    const isStart = cursor === null || cursor !== this.#cursor;
    if (isStart) this.#begin();
    else if (this.#changed.size === 0) await this.#untilChanged();
    // The changes are those of the new receiver.
    if (!isStart && cursor !== this.#cursor) throw new Error('another receiver follows the pods');
    return this.#take(isStart);
  }

  #begin(): void {
    this.#lastCursor += 1;
    this.#cursor = this.#lastCursor;
    this.#changed.clear();
    for (const pod of this.#deps.podManager.all()) this.#changed.add(podUID(pod));
  }

  #forget(): void {
    this.#cursor = 0;
    this.#changed.clear();
  }

  #untilChanged(): Promise<void> {
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      const answer = () => {
        cancel();
        if (this.#answer === answer) this.#answer = null;
        resolve();
      };
      const cancel = clock.after(this.#checkReady() ? maxWaitMs : maxWaitUntilReadyMs, answer);
      this.#answer = answer;
    });
  }

  #take(isStart: boolean): PodChanges {
    const { podManager, clock, logger } = this.#deps;
    const sourcesReady = this.#checkReady();
    const pods: PodState[] = [];
    const removed: PodUID[] = [];
    let length = 0;
    for (const uid of this.#changed) {
      if (pods.length + removed.length >= maxPodsPerReply || length >= maxReplyLength) break;
      this.#changed.delete(uid);
      const pod = podManager.get(uid);
      if (!pod) {
        removed.push(uid);
        continue;
      }
      const state = contain({ handler: 'pods API', logger, fields: { podUID: uid } }, () => this.#stateOf(uid, pod));
      if (!state) continue;
      pods.push(state);
      length += state.json.length;
    }
    this.#repliedAtMs = clock.monotonic();
    return { cursor: this.#cursor, isStart, isComplete: this.#changed.size === 0, sourcesReady, pods, removed };
  }

  /**
   * Returns whether the sources are ready and all pods that the API server has as ready have a status of this kubelet, or the time for that is over.
   * A restarted kubelet would otherwise show running pods as not ready until it has synced them.
   */
  #checkReady(): boolean {
    const { podManager, statuses, sourcesReady, clock } = this.#deps;
    if (this.#isReady || !sourcesReady()) return this.#isReady;
    this.#sourcesReadyAtMs ??= clock.monotonic();
    const isUnverified = (pod: Pod) => statuses.get(podUID(pod)) === undefined && isPodReady(pod.status);
    this.#isReady = clock.monotonic() - this.#sourcesReadyAtMs >= maxUnverifiedMs || !podManager.all().some(isUnverified);
    return this.#isReady;
  }

  #stateOf(uid: PodUID, pod: Pod): PodState {
    const { statuses } = this.#deps;
    const status = statuses.get(uid);
    const { namespace, name } = pod.metadata;
    return {
      uid,
      namespace,
      name,
      json: JSON.stringify({ ...pod, status: effectiveStatus(status, pod.status) }),
      hasStatus: status !== undefined,
      isFinished: statuses.isFinished(uid),
    };
  }
}
