/**
 * Mirrors the objects of one API path and notifies a handler of changes: streams a list, then watches, until closed. reflector-state.ts
 * decides the next step; this class executes it. Upstream: client-go tools/cache Reflector.
 *
 * Objects are raw JSON with unknown fields kept. An object without a name or a UID is logged and ignored. If `accept` rejects an object, its
 * last accepted version stays. An error thrown by a handler is logged and does not end the watch.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { withJitter } from '../../../shared/time/backoff.ts';
import { ApiError, type WatchEvent } from '../api-client.ts';
import { ChangeBatch } from './change-batch.ts';
import { listObjects } from './list-objects.ts';
import { ObjectStore, type ApiObject, type ObjectChange, type ObjectReader } from './object-store.ts';
import { ObjectValidator } from './object-validator.ts';
import { ReflectorBackoff } from './reflector-backoff.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { advanceReflector, classifyFailure, initialReflectorState, type ReflectorEvent } from './reflector-state.ts';
import { isOlder } from './resource-version.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { errorOf, metadataOf } from './untyped-object.ts';

/** The server ends a watch after 5 to 10 minutes (client-go's range). The random part keeps many watches from restarting together. */
const watchTimeoutSeconds = { min: 300, max: 600 };
const idleTimeoutJitter = 0.5;
/** A server that sends no event for this long counts as one that can't stream initial events. */
const initialEventsTimeoutMs = 30_000;
/** A watch that ends sooner, without any event, is restarted after a back-off (client-go: VeryShortWatchError). */
const shortWatchMs = 1000;
/** After the server recovers, requests are spread over this time: a node has many watches, and a cluster has many nodes. */
const recoverySpreadMs = 1000;

export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #logger: Logger;
  readonly #random: () => number;
  readonly #backoff: ReflectorBackoff;
  readonly #store: ObjectStore<T>;
  readonly #validator: ObjectValidator<T>;
  readonly #changes: ChangeBatch<ObjectChange<T>>;
  readonly #stop = new AbortController();
  #state = initialReflectorState;
  #isSynced = false;
  #running: Promise<void> = Promise.resolve();
  /** Ends the current back-off. Null without a back-off, and during one that must not be shortened. */
  #cancelWait: (() => void) | null = null;

  private constructor(options: ReflectorOptions<T>) {
    const { clock, handler, store = new ObjectStore<T>(), random = Math.random } = options;
    this.#options = options;
    this.#store = store;
    this.#logger = options.logger.child({ reflector: `${options.kind} ${options.path}` });
    this.#validator = new ObjectValidator(options, this.#store, this.#logger);
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

  /** The objects as last received. May be ahead of the handler by the changes of this event-loop iteration. */
  get objects(): ObjectReader<T> {
    return this.#store;
  }

  /** True after the first `onReplace`. */
  hasSynced(): boolean {
    return this.#isSynced;
  }

  /** Ends the watch. Delivers the changes received before, and none after. */
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
      const { state, wait } = advanceReflector(this.#state, event);
      const delayMs = wait === 'no' ? 0 : this.#backoff.nextMs(err instanceof ApiError ? err.retryAfterMs : 0);
      this.#log(event, err, state.step, delayMs);
      this.#state = state;
      if (delayMs > 0) await this.#backOff(delayMs, event);
    }
  }

  /** Waits out a back-off. Ends early when the server recovers, unless the server throttled the reflector with a 429. */
  async #backOff(delayMs: number, event: ReflectorEvent): Promise<void> {
    const { clock } = this.#options;
    const recovered = new AbortController();
    const isThrottled = event.type === 'failed' && event.failure === 'throttled';
    if (!isThrottled) this.#cancelWait = () => recovered.abort();
    await clock.sleep(delayMs, AbortSignal.any([this.#stop.signal, recovered.signal])).catch(() => {});
    this.#cancelWait = null;
    if (!recovered.signal.aborted || this.#stop.signal.aborted) return;
    this.#logger.debug('API server has recovered, ending the back-off');
    await clock.sleep(this.#random() * recoverySpreadMs, this.#stop.signal).catch(() => {});
  }

  /** Also resets the back-off during a request: a server that is not quite ready rejects the request, and the retry follows soon. */
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
      return { event: { type: 'failed', failure: classifyFailure(err) }, err };
    }
  }

  async #list(): Promise<ReflectorEvent> {
    const { items, resourceVersion } = await listObjects(this.#options.client, this.#call());
    if (!this.#stop.signal.aborted) {
      const objects = items.map((object) => this.#validator.accept({ object })).filter((object) => object !== null);
      this.#replace(objects, resourceVersion);
    }
    return { type: 'synced', resourceVersion };
  }

  /** Watches with sendInitialEvents: the server sends all objects, then the changes. */
  async #stream(): Promise<ReflectorEvent> {
    const { client, clock } = this.#options;
    const initialEvents = new IdleTimeout(initialEventsTimeoutMs, clock, this.#stop.signal);
    const idleTimeout = this.#startIdleTimeout(initialEvents.signal);
    const query = { ...this.#watchQuery(), sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
    const initial = new ObjectStore<T>();
    let hasInitialEvents = false;
    try {
      for await (const event of client.watch<unknown>({ ...this.#call(), query, signal: idleTimeout.signal })) {
        if (idleTimeout.signal.aborted) break;
        idleTimeout.restart();
        if (hasInitialEvents) {
          if (this.#handleEvent(event) === 'versionWentBack') return { type: 'versionWentBack' };
          continue;
        }
        initialEvents.restart();
        hasInitialEvents = this.#handleInitialEvent(event, initial);
        if (hasInitialEvents) initialEvents.stop();
      }
    } catch (err) {
      if (!idleTimeout.signal.aborted) throw err;
    } finally {
      initialEvents.stop();
      idleTimeout.stop();
    }
    if (initialEvents.hasExpired) return { type: 'initialEventsTimedOut' };
    return idleTimeout.hasExpired ? { type: 'idle' } : { type: 'closed', isEmpty: false };
  }

  /** Watches for changes after the last observed version. */
  async #watch(): Promise<ReflectorEvent> {
    const { client, clock } = this.#options;
    const startedAtMs = clock.monotonic();
    const query = { ...this.#watchQuery(), resourceVersion: this.#state.resourceVersion };
    const idleTimeout = this.#startIdleTimeout(this.#stop.signal);
    let events = 0;
    try {
      for await (const event of client.watch<unknown>({ ...this.#call(), query, signal: idleTimeout.signal })) {
        if (idleTimeout.signal.aborted) break;
        idleTimeout.restart();
        events += 1;
        if (this.#handleEvent(event) === 'versionWentBack') return { type: 'versionWentBack' };
      }
    } catch (err) {
      if (!idleTimeout.signal.aborted) throw err;
    } finally {
      idleTimeout.stop();
    }
    if (idleTimeout.hasExpired) return { type: 'idle' };
    return { type: 'closed', isEmpty: events === 0 && clock.monotonic() - startedAtMs < shortWatchMs };
  }

  /** Returns true for the bookmark after the last initial event. */
  #handleInitialEvent(event: WatchEvent<unknown>, initial: ObjectStore<T>): boolean {
    const { type, object: raw } = event;
    if (type === 'ERROR') throw errorOf(raw);
    if (type === 'BOOKMARK') {
      const { isInitialEventsEnd, resourceVersion } = metadataOf(raw);
      if (!isInitialEventsEnd || resourceVersion === '') return false;
      this.#replace(initial.list(), resourceVersion);
      this.#state = advanceReflector(this.#state, { type: 'synced', resourceVersion }).state;
      return true;
    }
    const object = type === 'DELETED' ? this.#validator.identify(raw) : this.#validator.accept(event);
    if (object && type === 'DELETED') initial.delete(object);
    else if (object) initial.set(object);
    return false;
  }

  #handleEvent(event: WatchEvent<unknown>): 'versionWentBack' | null {
    const { type, object: raw, isLate } = event;
    if (type === 'ERROR') throw errorOf(raw);
    const { resourceVersion } = metadataOf(raw);
    if (!isLate && isOlder(resourceVersion, this.#state.resourceVersion)) return 'versionWentBack';
    const object = type === 'BOOKMARK' ? null : type === 'DELETED' ? this.#validator.identify(raw) : this.#validator.accept(event);
    const changes = object ? (type === 'DELETED' ? this.#store.delete(object) : this.#store.set(object)) : [];
    for (const change of changes) this.#changes.add(change);
    if (resourceVersion !== '' && !isLate) this.#state = advanceReflector(this.#state, { type: 'versionObserved', resourceVersion }).state;
    return null;
  }

  #notify(handler: () => void): void {
    contain({ handler: 'reflector', logger: this.#logger }, handler);
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
    } else if (event.type === 'versionWentBack')
      this.#logger.warn(fields, "The server's resource version went back, reading everything again");
    else if (event.type === 'idle') this.#logger.info(fields, 'The watch received no events for too long, restarting it');
    else if (event.type === 'initialEventsTimedOut')
      this.#logger.warn(fields, 'The initial events of the watch do not end, listing instead');
    else this.#logger.debug({ ...fields, event: event.type }, 'Watch closed');
  }
}
