/**
 * Writes the kubelet's events to the log and to the API server (client-go tools/record: EventBroadcaster). Events have the lowest priority
 * of all API traffic: they are written one at a time from a bounded queue, and events that the server rejects are dropped. An event that is
 * retried, or whose write is slow, delays only other events of the same object. After several failures in a row the server counts as
 * unavailable and gets one request per retry interval. While pods start, normal events wait for an idle node; a warning ends the wait.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { cutMessage } from '../../shared/errors/cut-message.ts';
import { contain } from '../../shared/faults/contain.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from './event-sink.ts';
import { ApiError, apiPath, isNotFound, type ApiClient } from '../api/index.ts';
import { EventCorrelator, type CorrelatedEvent } from './event-correlator.ts';
import { toCoreEvent, type EventSource } from './event-object.ts';
import { LruMap } from './lru-map.ts';
import { selectNextEvent, type QueuedEvent } from './next-event.ts';

export interface EventRecorderOptions {
  /** Its traffic class `events` is limited to `eventRecordQPS`. */
  readonly client: ApiClient;
  readonly nodeName: string;
  /** Undefined: not known yet. */
  readonly nodeUID?: () => string | undefined;
  /** The delay before the first event of a burst, so that the requests that the events are about go first. Default: 0. */
  readonly initialDelayMs?: number;
  /** Resolves when no pod is starting, or when the signal aborts. Absent: normal events do not wait. */
  readonly untilIdle?: (signal: AbortSignal) => Promise<void>;
  /** Receives every event, in addition to the API server. */
  readonly log: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
}

/** client-go's values: maxQueuedEvents, maxTriesPerEvent and defaultSleepDuration. */
const maxQueued = 1000;
const maxTries = 12;
const retryMs = 10_000;
/** The upper limit for the server's Retry-After. */
const maxRetryMs = 60_000;
/** After this many failures in a row, which belong to different objects, the server counts as unavailable. */
const unavailableAfterFailures = 3;
/** After this time without a response, the next event is written in parallel. */
const slowWriteMs = 1000;
const maxParallelWrites = 8;
/** The longest wait for an idle node: enough for a burst of pod starts, and short for a user who waits for the event. */
const maxIdleWaitMs = 10_000;
/** How long `close` keeps writing queued events. */
const closeDeadlineMs = 1000;
/** How many pairs of namespace and reason are remembered, so that each rejection is logged as a warning once. */
const rememberedRejections = 256;

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #source: EventSource;
  readonly #random: () => number;
  readonly #correlator: EventCorrelator;
  readonly #rejections = new LruMap<string, true>(rememberedRejections);
  /** After it aborts, each queued event is tried once, without delays. */
  readonly #closing = new AbortController();
  /** After it aborts, no request is sent. */
  readonly #stop = new AbortController();
  readonly #queue: QueuedEvent[] = [];
  /** Events whose write is in progress. */
  readonly #inFlight = new Set<QueuedEvent>();
  #failuresInRow = 0;
  /** Monotonic ms until which no event is written. */
  #unavailableUntilMs = -Infinity;
  /** Ends the wait for the next event. */
  #wake = () => {};
  /** Ends the wait for an idle node. */
  #stopIdleWait = () => {};
  #dropped = 0;
  #lastNanos = 0n;
  #isWriting = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#source = { component: 'kubelet', host: options.nodeName };
    this.#random = options.random ?? Math.random;
    this.#correlator = new EventCorrelator(options.clock, () => this.#nextNanos());
  }

  /** Never blocks and never throws. New events are dropped while 1,000 are queued. */
  record(event: RecordedEvent): void {
    contain(this.#fault(), () => this.#record({ ...event, message: cutMessage(event.message) }));
  }

  #fault() {
    return { handler: 'events', logger: this.#options.logger };
  }

  #record(event: RecordedEvent): void {
    const { log, clock, logger } = this.#options;
    log.record(event);
    if (this.#closing.signal.aborted) return;
    if (this.#queue.length >= maxQueued) {
      if (this.#dropped === 0) logger.warn({ queued: this.#queue.length }, 'Too many queued events, dropping new ones');
      this.#dropped += 1;
      return;
    }
    this.#queue.push({
      event: toCoreEvent(this.#withNodeUID(event), this.#source, event.atMs ?? clock.now(), this.#nextNanos()),
      recordedAtMs: clock.monotonic(),
      tries: 0,
      notBeforeMs: -Infinity,
    });
    if (this.#isPressing) this.#stopIdleWait();
    this.#wake();
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#running = this.#writeAfterDelay();
  }

  #withNodeUID(event: RecordedEvent): RecordedEvent {
    const uid = event.object.kind === 'Node' ? this.#options.nodeUID?.() : undefined;
    return uid === undefined ? event : { ...event, object: { ...event.object, uid } };
  }

  /** Tries to write each queued event once, for at most a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopIdleWait();
    this.#wake();
    const cancel = this.#options.clock.after(closeDeadlineMs, () => this.#stop.abort());
    await this.#running;
    cancel();
  }

  /** Returns the wall-clock time in ns, increased until unique: it becomes part of the event's name. */
  #nextNanos(): bigint {
    const now = BigInt(Math.trunc(this.#options.clock.now())) * 1_000_000n;
    this.#lastNanos = now > this.#lastNanos ? now : this.#lastNanos + 1n;
    return this.#lastNanos;
  }

  async #writeAfterDelay(): Promise<void> {
    const { initialDelayMs: settleMs = 0, clock } = this.#options;
    if (settleMs > 0) await clock.sleep(settleMs, this.#closing.signal).catch(() => {});
    await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { untilIdle, clock, logger } = this.#options;
    while (this.#queue.length + this.#inFlight.size > 0 && !this.#stop.signal.aborted) {
      if (untilIdle && this.#queue.length > 0) await this.#waitForIdleNode(untilIdle);
      const nowMs = this.#closing.signal.aborted ? Infinity : clock.monotonic();
      const next = selectNextEvent(this.#queue, nowMs, [...this.#inFlight]);
      if (this.#inFlight.size >= maxParallelWrites) await this.#untilWoken(Infinity);
      else if (!('index' in next)) await this.#untilWoken(next.fromMs);
      else if (nowMs < this.#unavailableUntilMs) await this.#untilWoken(this.#unavailableUntilMs);
      else await this.#startWrite(this.#queue.splice(next.index, 1)[0]!);
      if (this.#dropped === 0 || this.#queue.length > maxQueued / 2) continue;
      logger.warn({ dropped: this.#dropped }, 'Events were dropped, too many were queued');
      this.#dropped = 0;
    }
    if (this.#queue.length > 0) logger.warn({ dropped: this.#queue.length }, 'Events are left unwritten at the end');
    this.#isWriting = false;
  }

  /** Starts the write. Resolves when the write ends or is slow. */
  async #startWrite(queued: QueuedEvent): Promise<void> {
    const { event } = queued;
    queued.correlated ??= contain(this.#fault(), () => this.#correlator.correlate(event)) ?? undefined;
    if (!queued.correlated) return;
    this.#inFlight.add(queued);
    const writing = this.#write(queued, queued.correlated).finally(() => {
      this.#inFlight.delete(queued);
      this.#wake();
    });
    const { promise: isSlow, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(slowWriteMs, resolve);
    await Promise.race([writing, isSlow]);
    cancel();
  }

  /** Waits until `#wake` is called or the time has come. */
  async #untilWoken(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = untilMs === Infinity ? () => {} : clock.after(untilMs - clock.monotonic(), resolve);
    await woken;
    cancel();
  }

  async #waitForIdleNode(untilIdle: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    const waitMs = maxIdleWaitMs - (clock.monotonic() - (this.#queue[0]?.recordedAtMs ?? 0));
    if (waitMs <= 0 || this.#isPressing || this.#closing.signal.aborted) return;
    const stop = new AbortController();
    this.#stopIdleWait = () => stop.abort();
    const cancel = clock.after(waitMs, this.#stopIdleWait);
    await untilIdle(stop.signal);
    cancel();
    // Releases the listeners on the signal.
    stop.abort();
  }

  /** True when a warning is queued or the queue is half full: then events do not wait for an idle node. */
  get #isPressing(): boolean {
    return this.#queue.length > maxQueued / 2 || this.#queue.some(({ event }) => event.type === 'Warning');
  }

  /** Tries once. Never rejects. */
  async #write(queued: QueuedEvent, correlated: CorrelatedEvent): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#send(correlated);
      this.#failuresInRow = 0;
    } catch (err) {
      if (this.#stop.signal.aborted) return;
      const { reason, involvedObject, metadata } = correlated.event;
      const fields = { object: `${metadata.namespace}/${involvedObject.name}`, reason, err: messageOf(err) };
      if (!mayBeRetried(err)) {
        this.#failuresInRow = 0;
        return this.#logRejection(metadata.namespace, err, fields);
      }
      queued.tries += 1;
      const { tries } = queued;
      if (tries >= maxTries || this.#closing.signal.aborted) return logger.error(fields, 'Unable to write event (retry limit exceeded!)');
      // The first delay is random: the kubelets of a cluster must not all retry at once when their server is back.
      const retryAfterMs = Math.min(retryAfterOf(err) ?? (tries === 1 ? retryMs * this.#random() : retryMs), maxRetryMs);
      logger.warn({ ...fields, tries, retryAfterMs }, 'Unable to write event (may retry after sleeping)');
      queued.notBeforeMs = clock.monotonic() + retryAfterMs;
      this.#queue.unshift(queued);
      this.#failuresInRow += 1;
      if (this.#failuresInRow >= unavailableAfterFailures) this.#unavailableUntilMs = queued.notBeforeMs;
    }
  }

  async #send({ event, patch }: CorrelatedEvent): Promise<void> {
    const { client } = this.#options;
    const events = ['api', 'v1', 'namespaces', event.metadata.namespace, 'events'] as const;
    const common = { trafficClass: 'events', maxAttempts: 1, signal: this.#stop.signal } as const;
    if (patch) {
      try {
        await client.call({ ...common, method: 'PATCH', patch: 'strategic', path: apiPath(...events, event.metadata.name), body: patch });
        return;
      } catch (err) {
        // The server deletes events after an hour: the event is created again with its count.
        if (!isNotFound(err)) throw err;
      }
    }
    await client.call({ ...common, method: 'POST', path: apiPath(...events), body: event });
  }

  /** Warns once per namespace and reason: a terminating namespace, for example, rejects every event. */
  #logRejection(namespace: string, err: unknown, fields: object): void {
    const key = `${namespace} ${err instanceof ApiError ? err.reason : ''}`;
    const level = this.#rejections.get(key) ? 'debug' : 'warn';
    this.#rejections.set(key, true);
    this.#options.logger[level](fields, 'Server rejected event (will not retry!)');
  }
}

function retryAfterOf(err: unknown): number | undefined {
  return err instanceof ApiError ? err.retryAfterMs : undefined;
}

/** True when the server does not respond (code 0) or is overloaded. A path that cannot be built is never retried (client-go: RequestConstructionError). */
function mayBeRetried(err: unknown): boolean {
  return err instanceof ApiError && [0, 429, 503, 504].includes(err.code) && err.reason !== 'Invalid';
}
