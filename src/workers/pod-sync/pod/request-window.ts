/**
 * Bounds the requests of a task that are under way, by type: main refuses a task with too many requests, and a pod may have thousands of containers. Further
 * requests wait in their order. The types do not wait for each other: a container that holds a start permit requests objects while others wait for permits.
 */
import type { PodSyncRequest } from '../../../shared/contracts/pod-sync/channel.ts';

type RequestType = PodSyncRequest['type'];

/**
 * The limit of each type. All types together stay below main's limit of 1000 (main/threads/task-channel.ts), because not all of the seven types have many
 * requests at a time: `recordActuated`, for example, is sent for few containers.
 */
const maxUnderWay = 200;

export class RequestWindow {
  readonly #underWay = new Map<RequestType, number>();
  readonly #waiting = new Map<RequestType, (() => void)[]>();

  /** Calls `send` now, or when a request of this type has ended. */
  enter(type: RequestType, send: () => void): void {
    const count = this.#underWay.get(type) ?? 0;
    if (count >= maxUnderWay) {
      const waiting = this.#waiting.get(type) ?? [];
      waiting.push(send);
      this.#waiting.set(type, waiting);
      return;
    }
    this.#underWay.set(type, count + 1);
    send();
  }

  /** A request of this type has ended. */
  leave(type: RequestType): void {
    const next = this.#waiting.get(type)?.shift();
    if (next) next();
    else this.#underWay.set(type, (this.#underWay.get(type) ?? 1) - 1);
  }

  /** Forgets the waiting requests. */
  clear(): void {
    this.#waiting.clear();
  }
}
