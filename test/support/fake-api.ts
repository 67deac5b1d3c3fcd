/**
 * An API server for unit tests: it answers what the test told it to by method and path, keeps every call, and its watches send what
 * the test pushes. No time passes in it and nothing is tried again: a test sees each call once.
 */
import { ApiError, type ApiCall, type ApiClient, type WatchEvent } from '../../src/main/api/index.ts';
import { untilAborted } from '../../src/shared/concurrency/until-aborted.ts';

/** A value is the answer; an Error is thrown; a function is called with the call, and what it returns or throws is the answer. */
export type FakeAnswer = unknown;
type PathPattern = string | RegExp;

interface Script {
  readonly method: ApiCall['method'];
  readonly path: PathPattern;
  readonly answer: FakeAnswer;
  readonly isOnce: boolean;
}

/** An answer that the test gives when it wants. */
export interface HeldAnswer {
  resolve(value: unknown): void;
  reject(err: Error): void;
}

export class FakeApi implements ApiClient {
  /** Every call in order, refused ones too; bodies are copies, as if they had been sent. */
  readonly calls: ApiCall[] = [];
  /** Every watch that began, in order, ended ones too. */
  readonly watches: FakeWatch[] = [];
  #scripts: Script[] = [];
  #refusals: { readonly path: PathPattern; readonly err: Error }[] = [];
  #awaited: { readonly path: PathPattern; readonly resolve: (watch: FakeWatch) => void }[] = [];
  #taken = new Set<FakeWatch>();
  readonly #returnListeners = new Set<() => void>();

  /** The answer to every such call from now on; a later one for the same path takes its place. The path is without the query. */
  on(method: ApiCall['method'], path: PathPattern, answer: FakeAnswer): this {
    this.#scripts.push({ method, path, answer, isOnce: false });
    return this;
  }

  /** The answer to one such call, before those of `on`; several are given in their order. */
  once(method: ApiCall['method'], path: PathPattern, answer: FakeAnswer): this {
    this.#scripts.push({ method, path, answer, isOnce: true });
    return this;
  }

  /** The next such call waits until the test answers it, or until its signal aborts. */
  hold(method: ApiCall['method'], path: PathPattern): HeldAnswer {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    promise.catch(() => {});
    this.once(method, path, () => promise);
    return { resolve, reject };
  }

  /** The next watch of this path throws this before its first event. */
  refuseWatch(path: PathPattern, err: Error): this {
    this.#refusals.push({ path, err });
    return this;
  }

  /** The calls of this method and path. */
  callsTo(method: ApiCall['method'], path: PathPattern): ApiCall[] {
    return this.calls.filter((call) => call.method === method && matches(path, call.path));
  }

  /** The next watch of this path that no earlier `nextWatch` has given: one that is there already, or the one to come. */
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
    this.#returnListeners.add(listener);
    return () => void this.#returnListeners.delete(listener);
  }
  /** The server answers again, after a while in which it did not. */
  comeBack(): void {
    for (const listener of this.#returnListeners) listener();
  }

  #take(call: ApiCall): Script | undefined {
    const fits = (script: Script) => script.method === call.method && matches(script.path, call.path);
    const once = this.#scripts.find((script) => script.isOnce && fits(script));
    if (!once) return this.#scripts.findLast(fits);
    this.#scripts = this.#scripts.filter((script) => script !== once);
    return once;
  }
}

/** One watch, from the server's side. */
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

  /** Whether the client still reads it. */
  get isOpen(): boolean {
    return this.#isOpen && !this.call.signal.aborted;
  }

  push(type: WatchEvent<unknown>['type'], object: unknown): void {
    this.#queue.push({ type, object: structuredClone(object) });
    this.#wake();
  }
  /** The server's end of it, after what was pushed. */
  end(): void {
    this.#end ??= {};
    this.#wake();
  }
  /** The connection is lost, after what was pushed. */
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

/** What the server says with this code, as a client sees it. */
export function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError(code, reason, message);
}

function matches(pattern: PathPattern, path: string): boolean {
  return typeof pattern === 'string' ? pattern === path : pattern.test(path);
}
