/** Watches a collection of the API server and timestamps its events. This is when users see what a kubelet does. */
import type { ApiClient, WatchEvent } from '../../lab/control-plane/control-plane-api.ts';
import { messageOf } from '../../src/shared/errors/kubelet-error.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';

interface Versioned {
  readonly metadata: { readonly resourceVersion?: string };
}

interface Waiter {
  readonly check: () => boolean;
  readonly resolve: () => void;
  readonly reject: (err: Error) => void;
}

export class ApiWatch<T extends Versioned> {
  readonly #aborter = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #onEvent: (event: WatchEvent<T>, atMs: number) => void;
  #ended: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  private constructor(onEvent: (event: WatchEvent<T>, atMs: number) => void) {
    this.#onEvent = onEvent;
  }

  /** @param path a collection, with or without a selector @param onEvent gets monotonic ms */
  static async start<T extends Versioned>(
    api: ApiClient,
    path: string,
    onEvent: (event: WatchEvent<T>, atMs: number) => void,
  ): Promise<ApiWatch<T>> {
    const watch = new ApiWatch<T>(onEvent);
    const { metadata } = await api.get<{ metadata: { resourceVersion: string } }>(path);
    watch.#ended = watch.#run(api, path, metadata.resourceVersion);
    return watch;
  }

  /** Resolves when `check` returns true after an event. Rejects after the timeout, with `what` in the message, or when the watch fails. */
  async waitUntil(what: string, timeoutMs: number, check: () => boolean): Promise<void> {
    if (check()) return;
    if (this.#failure) throw this.#failure;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { check, resolve, reject };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => reject(new Error(`${what}: not within ${timeoutMs} ms`)), timeoutMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  async close(): Promise<void> {
    this.#aborter.abort();
    await this.#ended;
  }

  async #run(api: ApiClient, path: string, from: string): Promise<void> {
    const { signal } = this.#aborter;
    let resourceVersion = from;
    try {
      // An overloaded API server closes slow watches. Continuing at the last resource version loses nothing.
      while (!signal.aborted) {
        for await (const event of api.watch<T>(`${path}${path.includes('?') ? '&' : '?'}resourceVersion=${resourceVersion}`, signal)) {
          if (event.type === 'ERROR') throw new Error(`the watch of ${path} failed: ${JSON.stringify(event.object)}`);
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
          this.#onEvent(event, monotonicMs());
          for (const { check, resolve } of this.#waiters) if (check()) resolve();
        }
      }
    } catch (err) {
      if (signal.aborted) return;
      this.#failure = err instanceof Error ? err : new Error(messageOf(err));
      for (const { reject } of this.#waiters) reject(this.#failure);
    }
  }
}
