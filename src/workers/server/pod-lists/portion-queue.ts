/**
 * Fetches portions of pod lists from main, one at a time, and only while clients have not left too many bytes untaken: the memory of main and of this
 * thread has a limit, however many clients there are. Requests that wait for the same portion share it.
 */
import type { PodListItems, PodListName } from '../../../shared/contracts/server/pods.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

/** About thirty ordinary portions of 512 KiB, or two pods as long as the API server's JSON can be. The last portion may exceed the limit. */
const maxHeldBytes = 16 * 1024 * 1024;
/** More than main returns in one portion, even of small pods. */
const maxUIDs = 256;

export interface Portion extends PodListItems {
  /** Called when the bytes are no longer needed. Idempotent. */
  readonly release: () => void;
}

interface SharedPortion {
  users: number;
  readonly items: Promise<PodListItems>;
}

export class PortionQueue {
  readonly #fetch: (list: PodListName, uids: readonly PodUID[]) => Promise<PodListItems>;
  /** The portions that are queued or being fetched, by list and UIDs. */
  readonly #waiting = new Map<string, SharedPortion>();
  /** Settles when the last queued fetch has ended. */
  #lastFetch: Promise<unknown> = Promise.resolve();
  #heldBytes = 0;
  #onRelease: (() => void) | null = null;

  constructor(fetch: (list: PodListName, uids: readonly PodUID[]) => Promise<PodListItems>) {
    this.#fetch = fetch;
  }

  /** Rejects when main does not answer. The caller releases the portion. */
  async take(list: PodListName, all: readonly PodUID[]): Promise<Portion> {
    const uids = all.slice(0, maxUIDs);
    const key = `${list} ${uids.join(' ')}`;
    const shared = this.#waiting.get(key) ?? this.#enqueue(key, list, uids);
    shared.users += 1;
    const { taken, json } = await shared.items;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      shared.users -= 1;
      if (shared.users === 0) this.#free(json.length);
    };
    return { taken, json, release };
  }

  #enqueue(key: string, list: PodListName, uids: readonly PodUID[]): SharedPortion {
    const shared: SharedPortion = { users: 0, items: this.#fetchAfter(this.#lastFetch, key, list, uids) };
    this.#waiting.set(key, shared);
    this.#lastFetch = shared.items.catch(() => {});
    return shared;
  }

  async #fetchAfter(last: Promise<unknown>, key: string, list: PodListName, uids: readonly PodUID[]): Promise<PodListItems> {
    await last;
    try {
      while (this.#heldBytes >= maxHeldBytes) await new Promise<void>((resolve) => (this.#onRelease = resolve));
      const items = await this.#fetch(list, uids);
      this.#heldBytes += items.json.length;
      return items;
    } finally {
      this.#waiting.delete(key);
    }
  }

  #free(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#onRelease?.();
  }
}
