/**
 * Keeps the objects of one API path as the server has them, and tells a handler what changed: a list that is streamed, then a watch, for
 * as long as it lives. What is done next is decided in reflector-state.ts; this does it. Upstream: client-go tools/cache Reflector.
 *
 * Objects are raw JSON with unknown fields kept. One that lacks a name or a UID is refused by what name it has, and the rest goes on; so is one
 * that `accept` refuses, of which the last version that was accepted stays. A handler that throws has been told, and the watch goes on.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { contain } from '../../../shared/errors/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError, type ApiClient, type TrafficClass, type WatchEvent } from '../api-client.ts';
import type { FieldSelector } from '../field-selector.ts';
import { ChangeBatch } from './change-batch.ts';
import { listObjects } from './list-objects.ts';
import { ObjectStore, type ApiObject, type ObjectChange, type ObjectReader } from './object-store.ts';
import { ReflectorBackoff } from './reflector-backoff.ts';
import { advance, failureOf, initialState, type ReflectorEvent } from './reflector-state.ts';
import { isOlder } from './resource-version.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { errorOf, metadataOf } from './untyped-object.ts';

export interface ReflectorHandler<T> {
  /** All objects there are: after the first sync, and whenever everything had to be read afresh. */
  onReplace(objects: readonly T[]): void;
  /** In the order in which it happened; all that came in one turn of the event loop at once. Never before the first `onReplace`. */
  onChange(changes: readonly ObjectChange<T>[]): void;
}

export interface ReflectorOptions<T> {
  readonly client: ApiClient;
  readonly path: string;
  readonly fieldSelector?: FieldSelector;
  readonly trafficClass: TrafficClass;
  /** What the objects are: items of a list do not say it. */
  readonly apiVersion: string;
  readonly kind: string;
  /** A watch without a line for so long, and up to half of it more, is begun again. Default: as long as the server was asked to last it. */
  readonly idleTimeoutMs?: number;
  readonly handler: ReflectorHandler<T>;
  /** The object as it is to be kept; null: it can't be. Default: as it came. */
  readonly accept?: (object: T) => T | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** The server ends a watch after 5 to 10 minutes, as client-go asks it to: many watches must not begin again together. */
const watchTimeoutSeconds = { min: 300, max: 600 };
/**
 * For watches on which a node's life depends. API servers send a bookmark each minute where anything happens in their cluster; three that
 * did not come may mean that somebody on the way has forgotten the watch and keeps its connection. In a quiet cluster it costs a request.
 */
export const criticalWatchIdleTimeoutMs = 180_000;
const idleTimeoutJitter = 0.5;
/** Without a line for so long, the initial events will not end. */
const initialEventsTimeoutMs = 30_000;
/** A watch that ends sooner and says nothing is not worth beginning again at once (client-go: VeryShortWatchError). */
const shortWatchMs = 1000;
/** A server that is back is asked within so long: a node has many watches, and a cluster many nodes. */
const recoverySpreadMs = 1000;

export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #logger: Logger;
  readonly #random: () => number;
  readonly #backoff: ReflectorBackoff;
  readonly #store = new ObjectStore<T>();
  readonly #changes: ChangeBatch<ObjectChange<T>>;
  readonly #stop = new AbortController();
  #state = initialState;
  #isSynced = false;
  #running: Promise<void> = Promise.resolve();
  /** Null: it does not wait, or must. */
  #cancelWait: (() => void) | null = null;

  private constructor(options: ReflectorOptions<T>) {
    const { clock, handler, random = Math.random } = options;
    this.#options = options;
    this.#logger = options.logger.child({ reflector: `${options.kind} ${options.path}` });
    this.#random = random;
    this.#backoff = new ReflectorBackoff(clock, random);
    this.#changes = new ChangeBatch((changes) => this.#notify(() => handler.onChange(changes)));
  }

  static start<T extends ApiObject>(options: ReflectorOptions<T>): Reflector<T> {
    const reflector = new Reflector<T>(options);
    const unsubscribe = options.client.onRecovery(() => reflector.#onRecovery());
    reflector.#running = reflector.#run().finally(unsubscribe);
    return reflector;
  }

  /** The objects as last seen. It may be ahead of the handler by what came in this turn. */
  get objects(): ObjectReader<T> {
    return this.#store;
  }

  /** All objects were known once, and the handler has been told. */
  hasSynced(): boolean {
    return this.#isSynced;
  }

  /** Ends the watch. What came before is handed on, nothing after. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    this.#logger.debug('Starting reflector');
    while (!signal.aborted) {
      const { event, err } = await this.#runStep();
      this.#changes.flush();
      if (signal.aborted) return;
      const { state, wait } = advance(this.#state, event);
      const delayMs = wait === 'no' ? 0 : this.#backoff.nextMs(err instanceof ApiError ? err.retryAfterMs : 0);
      this.#log(event, err, state.step, delayMs);
      this.#state = state;
      if (delayMs > 0) await this.#backOff(delayMs, event);
    }
  }

  /** Ends sooner when the server is back; what it asked to wait by a 429 is waited. */
  async #backOff(delayMs: number, event: ReflectorEvent): Promise<void> {
    const { clock } = this.#options;
    const returned = new AbortController();
    const isThrottled = event.type === 'failed' && event.failure === 'throttled';
    if (!isThrottled) this.#cancelWait = () => returned.abort();
    await clock.sleep(delayMs, AbortSignal.any([this.#stop.signal, returned.signal])).catch(() => {});
    this.#cancelWait = null;
    if (!returned.signal.aborted || this.#stop.signal.aborted) return;
    this.#logger.debug('The API server is back, no longer waiting');
    await clock.sleep(this.#random() * recoverySpreadMs, this.#stop.signal).catch(() => {});
  }

  /** Also of one that asks just now: a server that is not quite ready yet refuses, and is soon asked again. */
  #onRecovery(): void {
    this.#backoff.reset();
    this.#cancelWait?.();
  }

  async #runStep(): Promise<{ readonly event: ReflectorEvent; readonly err?: unknown }> {
    try {
      switch (this.#state.step) {
        case 'stream':
          return { event: await this.#stream() };
        case 'watch':
          return { event: await this.#watch() };
        case 'list':
          return { event: await this.#list() };
        default:
          return this.#state.step satisfies never;
      }
    } catch (err) {
      return { event: { type: 'failed', failure: failureOf(err) }, err };
    }
  }

  async #list(): Promise<ReflectorEvent> {
    const { items, resourceVersion } = await listObjects(this.#options.client, this.#call());
    if (!this.#stop.signal.aborted) {
      const objects = items.map((item) => this.#accept(item)).filter((object) => object !== null);
      this.#replace(objects, resourceVersion);
    }
    return { type: 'synced', resourceVersion };
  }

  /** The server sends what there is, then what changes. */
  async #stream(): Promise<ReflectorEvent> {
    const { client, clock } = this.#options;
    const silence = new IdleTimeout(initialEventsTimeoutMs, clock, this.#stop.signal);
    const quiet = this.#startIdleTimeout(silence.signal);
    const query = { ...this.#watchQuery(), sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
    const initial = new ObjectStore<T>();
    let isKnown = false;
    try {
      for await (const event of client.watch<unknown>({ ...this.#call(), query, signal: quiet.signal })) {
        if (quiet.signal.aborted) break;
        quiet.restart();
        if (isKnown) {
          if (this.#handleEvent(event) === 'wentBack') return { type: 'wentBack' };
          continue;
        }
        silence.restart();
        isKnown = this.#handleInitialEvent(event, initial);
        if (isKnown) silence.stop();
      }
    } catch (err) {
      if (!quiet.signal.aborted) throw err;
    } finally {
      silence.stop();
      quiet.stop();
    }
    if (silence.hasExpired) return { type: 'silent' };
    return quiet.hasExpired ? { type: 'quiet' } : { type: 'closed', isEmpty: false };
  }

  /** What changes after the last version that was seen. */
  async #watch(): Promise<ReflectorEvent> {
    const { client, clock } = this.#options;
    const startedAtMs = clock.monotonic();
    const query = { ...this.#watchQuery(), resourceVersion: this.#state.resourceVersion };
    const quiet = this.#startIdleTimeout(this.#stop.signal);
    let lines = 0;
    try {
      for await (const event of client.watch<unknown>({ ...this.#call(), query, signal: quiet.signal })) {
        if (quiet.signal.aborted) break;
        quiet.restart();
        lines += 1;
        if (this.#handleEvent(event) === 'wentBack') return { type: 'wentBack' };
      }
    } catch (err) {
      if (!quiet.signal.aborted) throw err;
    } finally {
      quiet.stop();
    }
    if (quiet.hasExpired) return { type: 'quiet' };
    return { type: 'closed', isEmpty: lines === 0 && clock.monotonic() - startedAtMs < shortWatchMs };
  }

  /** True when it was the last, and everything is known. */
  #handleInitialEvent({ type, object: raw }: WatchEvent<unknown>, initial: ObjectStore<T>): boolean {
    if (type === 'ERROR') throw errorOf(raw);
    if (type === 'BOOKMARK') {
      const { isInitialEventsEnd, resourceVersion } = metadataOf(raw);
      if (!isInitialEventsEnd || resourceVersion === '') return false;
      this.#replace(initial.list(), resourceVersion);
      this.#state = advance(this.#state, { type: 'synced', resourceVersion }).state;
      return true;
    }
    const object = type === 'DELETED' ? this.#named(raw) : this.#accept(raw);
    if (object && type === 'DELETED') initial.delete(object);
    else if (object) initial.set(object);
    return false;
  }

  #handleEvent({ type, object: raw }: WatchEvent<unknown>): 'wentBack' | null {
    if (type === 'ERROR') throw errorOf(raw);
    const { resourceVersion } = metadataOf(raw);
    if (isOlder(resourceVersion, this.#state.resourceVersion)) return 'wentBack';
    const object = type === 'BOOKMARK' ? null : type === 'DELETED' ? this.#named(raw) : this.#accept(raw);
    const changes = object ? (type === 'DELETED' ? this.#store.delete(object) : this.#store.set(object)) : [];
    for (const change of changes) this.#changes.add(change);
    if (resourceVersion !== '') this.#state = advance(this.#state, { type: 'seen', resourceVersion }).state;
    return null;
  }

  #notify(handler: () => void): void {
    contain({ handler: 'reflector', logger: this.#logger }, handler);
  }

  /** As it is to be kept: the last version that could be, when this one can't; null: there is none. */
  #accept(raw: unknown): T | null {
    const object = this.#named(raw);
    const { accept } = this.#options;
    if (!object || !accept) return object;
    const accepted = contain({ handler: 'reflector', logger: this.#logger, fields: { uid: object.metadata.uid } }, () => accept(object));
    return accepted ?? this.#store.get(object.metadata.uid) ?? null;
  }

  /** With what an item of a list leaves out; null when it has no name or UID. */
  #named(raw: unknown): T | null {
    const { name, namespace, uid } = metadataOf(raw);
    if (typeof name !== 'string' || name === '' || typeof uid !== 'string' || uid === '') {
      this.#logger.error({ name, namespace, uid }, 'An object without a name or a UID is ignored');
      return null;
    }
    const { apiVersion, kind } = this.#options;
    const object = raw as T & { readonly apiVersion?: string; readonly kind?: string };
    return object.kind === undefined || object.apiVersion === undefined ? { ...object, apiVersion, kind } : object;
  }

  #replace(objects: readonly T[], resourceVersion: string): void {
    this.#changes.flush();
    this.#store.replace(objects);
    this.#notify(() => this.#options.handler.onReplace(this.#store.list()));
    this.#isSynced = true;
    this.#logger.debug({ objects: this.#store.size, resourceVersion }, 'Caches populated');
  }

  #startIdleTimeout(signal: AbortSignal): IdleTimeout {
    const { idleTimeoutMs, clock } = this.#options;
    return new IdleTimeout(
      idleTimeoutMs === undefined ? Infinity : withJitter(idleTimeoutMs, idleTimeoutJitter, this.#random),
      clock,
      signal,
    );
  }

  #call() {
    const { path, fieldSelector, trafficClass } = this.#options;
    return { path, query: { fieldSelector }, trafficClass, signal: this.#stop.signal };
  }

  #watchQuery() {
    const { min, max } = watchTimeoutSeconds;
    return { ...this.#call().query, allowWatchBookmarks: true, timeoutSeconds: Math.floor(min + this.#random() * (max - min)) };
  }

  #log(event: ReflectorEvent, err: unknown, next: string, retryAfterMs: number): void {
    const { step, resourceVersion } = this.#state;
    const fields = { step, next, retryAfterMs, resourceVersion };
    if (event.type === 'failed') {
      const level = event.failure === 'expired' ? 'info' : 'warn';
      this.#logger[level]({ ...fields, err: messageOf(err) }, 'Watch failed');
    } else if (event.type === 'wentBack') this.#logger.warn(fields, "The server's resource version went back, everything is read afresh");
    else if (event.type === 'quiet') this.#logger.info(fields, 'The watch is silent for too long, it is begun again');
    else if (event.type === 'silent') this.#logger.warn(fields, 'The initial events of the watch do not end, listing instead');
    else this.#logger.debug({ ...fields, event: event.type }, 'Watch closed');
  }
}
