/**
 * An API client for unit tests with scripted responses by method and path. It records every call, and its watches deliver the events that the
 * test pushes. It has no delays and no retries: a test sees each call once.
 */
import { ApiError, type ApiCall, type ApiClient, type WatchEvent } from '../../../src/main/api/index.ts';
import { untilAborted } from '../../../src/shared/concurrency/until-aborted.ts';

/** A value to respond with, an Error to throw, or a function of the call that returns or throws the response. */
export type ScriptedResponse = unknown;
type PathPattern = string | RegExp;

interface Script {
  readonly method: ApiCall['method'];
  readonly path: PathPattern;
  readonly answer: ScriptedResponse;
  readonly isOnce: boolean;
}

/** A response that the test supplies later. */
export interface DeferredResponse {
  resolve(value: unknown): void;
  reject(err: Error): void;
}

export class FakeApi implements ApiClient {
  /** Every call in order, including failed ones. Bodies are copies, as if they had been sent. */
  readonly calls: ApiCall[] = [];
  /** Every started watch in order, including ended ones. */
  readonly watches: FakeWatch[] = [];
  #scripts: Script[] = [];
  #refusals: { readonly path: PathPattern; readonly err: Error }[] = [];
  #awaited: { readonly path: PathPattern; readonly resolve: (watch: FakeWatch) => void }[] = [];
  #taken = new Set<FakeWatch>();
  readonly #recoveryListeners = new Set<() => void>();

  /** Sets the response to all further calls of this method and path. A later one for the same path replaces it. The path has no query. */
  on(method: ApiCall['method'], path: PathPattern, answer: ScriptedResponse): this {
    this.#scripts.push({ method, path, answer, isOnce: false });
    return this;
  }

  /** Sets the response to one call, which takes precedence over `on`. Several are used in order. */
  once(method: ApiCall['method'], path: PathPattern, answer: ScriptedResponse): this {
    this.#scripts.push({ method, path, answer, isOnce: true });
    return this;
  }

  /** Makes the next such call wait until the test resolves it or its signal aborts. */
  deferResponse(method: ApiCall['method'], path: PathPattern): DeferredResponse {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    promise.catch(() => {});
    this.once(method, path, () => promise);
    return { resolve, reject };
  }

  /** Makes the next watch of this path throw this error before its first event. */
  failNextWatch(path: PathPattern, err: Error): this {
    this.#refusals.push({ path, err });
    return this;
  }

  /** The calls of this method and path. */
  callsTo(method: ApiCall['method'], path: PathPattern): ApiCall[] {
    return this.calls.filter((call) => call.method === method && matches(path, call.path));
  }

  /** Resolves with the first watch of this path, present or future, that no earlier `nextWatch` has returned. */
  nextWatch(path: PathPattern): Promise<FakeWatch> {
    const found = this.watches.find((watch) => !this.#taken.has(watch) && matches(path, watch.call.path));
    if (found) {
      this.#taken.add(found);
      return Promise.resolve(found);
    }
    return new Promise((resolve) => this.#awaited.push({ path, resolve }));
  }

  async call<T>(call: ApiCall): Promise<T> {
    this.calls.push({ ...call, ...(call.body === undefined ? {} : { body: structuredClone(call.body) }) });
    call.signal?.throwIfAborted();
    const script = this.#take(call);
    if (!script) throw new Error(`nothing is scripted for ${call.method} ${call.path}`);
    const answer = typeof script.answer === 'function' ? (script.answer as (call: ApiCall) => unknown)(call) : script.answer;
    const settled = answer instanceof Promise ? await (call.signal ? untilAborted(answer, call.signal) : answer) : answer;
    if (settled instanceof Error) throw settled;
    return structuredClone(settled) as T;
  }

  async *watch<T>(call: Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal }): AsyncIterable<WatchEvent<T>> {
    if (call.signal.aborted) return;
    const refusal = this.#refusals.findIndex(({ path }) => matches(path, call.path));
    if (refusal >= 0) throw this.#refusals.splice(refusal, 1)[0]!.err;
    const watch = new FakeWatch(call);
    this.watches.push(watch);
    const awaited = this.#awaited.findIndex(({ path }) => matches(path, call.path));
    if (awaited >= 0) {
      this.#taken.add(watch);
      this.#awaited.splice(awaited, 1)[0]!.resolve(watch);
    }
    yield* watch.events<T>();
  }

  onRecovery(listener: () => void): () => void {
    this.#recoveryListeners.add(listener);
    return () => void this.#recoveryListeners.delete(listener);
  }
  /** Notifies the recovery listeners: the server responds again after an outage. */
  recover(): void {
    for (const listener of this.#recoveryListeners) listener();
  }

  #take(call: ApiCall): Script | undefined {
    const fits = (script: Script) => script.method === call.method && matches(script.path, call.path);
    const once = this.#scripts.find((script) => script.isOnce && fits(script));
    if (!once) return this.#scripts.findLast(fits);
    this.#scripts = this.#scripts.filter((script) => script !== once);
    return once;
  }
}

/** The server's side of one watch. */
export class FakeWatch {
  readonly call: Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal };
  #queue: WatchEvent<unknown>[] = [];
  #end: { readonly err?: Error } | null = null;
  #isOpen = true;
  #wake: () => void = () => {};

  constructor(call: FakeWatch['call']) {
    this.call = call;
    call.signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  /** True while the client reads the watch. */
  get isOpen(): boolean {
    return this.#isOpen && !this.call.signal.aborted;
  }

  /** @param problem why the object was not read: it then has only its metadata */
  push(type: WatchEvent<unknown>['type'], object: unknown, problem?: string): void {
    this.#queue.push({ type, object: structuredClone(object), ...(problem !== undefined && { problem }) });
    this.#wake();
  }
  /** An event that the client has held back. */
  pushLate(type: WatchEvent<unknown>['type'], object: unknown): void {
    this.#queue.push({ type, object: structuredClone(object), isLate: true });
    this.#wake();
  }
  /** Ends the watch after the pushed events. */
  end(): void {
    this.#end ??= {};
    this.#wake();
  }
  /** Fails the watch after the pushed events, by default with a lost connection. */
  fail(err: Error = new ApiError(0, 'Unreachable', 'connection lost')): void {
    this.#end ??= { err };
    this.#wake();
  }

  async *events<T>(): AsyncIterable<WatchEvent<T>> {
    try {
      for (;;) {
        if (this.call.signal.aborted) return;
        const event = this.#queue.shift();
        if (event) yield event as WatchEvent<T>;
        else if (this.#end?.err) throw this.#end.err;
        else if (this.#end) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#isOpen = false;
    }
  }
}

/** The client's error for a response with this status code. */
export function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError(code, reason, message);
}

function matches(pattern: PathPattern, path: string): boolean {
  return typeof pattern === 'string' ? pattern === path : pattern.test(path);
}
