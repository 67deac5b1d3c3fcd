/**
 * The pods whose changes no inspection has reported yet, or whose last inspection failed, and the time at which each is due. A relist
 * inspects the due pods.
 */
import { ContainerState } from '../../../shared/cri/generated/cri-v1.ts';
import type { Item, PodRecord } from './pod-record.ts';

/**
 * The delay of an inspection after a start. Syncs that create a sandbox and its containers take less, even in a burst of pods on a busy
 * node, and request an inspection at their end. The end of a container is inspected immediately.
 */
export const startInspectionDelayMs = 10_000;

export class PodsToInspect {
  readonly #pods = new Set<PodRecord>();

  all(): Iterable<PodRecord> {
    return this.#pods;
  }

  /**
   * An item of the pod changed. The inspection of a start may wait, because usually a sync of this kubelet caused the start and requests an
   * inspection at its end. The same holds for running items of the first relist, which the pod's first sync inspects. All other changes are
   * due immediately.
   */
  addChanged(record: PodRecord, item: Item, isFirstRelist: boolean, nowMs: number): void {
    const mayWait = isFirstRelist ? item.state === 'running' : isStart(item);
    if (!mayWait) record.inspectAtMs = 0;
    else if (!this.#pods.has(record)) record.inspectAtMs = nowMs + startInspectionDelayMs;
    this.#pods.add(record);
  }

  /** The last inspection failed. Retries at `inspectAtMs`, set by the caller. */
  addFailed(record: PodRecord): void {
    this.#pods.add(record);
  }

  delete(record: PodRecord): void {
    this.#pods.delete(record);
  }
}

/** A created or started item, as opposed to an exited, lost or removed one. */
function isStart({ kind, state, rawState }: Item): boolean {
  return state === 'running' || (kind === 'container' && rawState === (ContainerState.CONTAINER_CREATED as number));
}
