/**
 * Sends the kubelet's events to the API server, and to the log as before (client-go tools/record: EventBroadcaster). Events are the least
 * of our traffic: one is written at a time, what waits is bounded, and one that the server does not want is given up. One that has to be
 * tried again, or that the server does not answer, holds up the events of its own object only. Where several in a row have to be tried again,
 * the server is away and gets one at a time. While pods start, what only tells how well it goes waits for them, as long as there is no
 * warning among it.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { contain } from '../../shared/errors/contain.ts';
import type { RecordedEvent } from '../../shared/contracts/event.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { EventSink } from './event-sink.ts';
import { ApiError, apiPath, isNotFound, type ApiClient } from '../api/index.ts';
import { EventCorrelator, type CorrelatedEvent } from './event-correlator.ts';
import { toCoreEvent, type EventSource } from './event-object.ts';
import { LruMap } from './lru-map.ts';
import { nextEvent, type QueuedEvent } from './next-event.ts';

export interface EventRecorderOptions {
  /** Its class `events` has the rate of `eventRecordQPS`. */
  readonly client: ApiClient;
  readonly nodeName: string;
  /** How long the first of some events waits: what they tell of comes before the telling. Default: not at all. */
  readonly initialDelayMs?: number;
  /** Resolves when the node has nothing better to do, or the signal aborts: what only tells of success waits for it. Default: at once. */
  readonly untilIdle?: (signal: AbortSignal) => Promise<void>;
  /** Gets every event too. */
  readonly log: EventSink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** client-go's numbers. */
const maxQueued = 1000;
const maxTries = 12;
const retryMs = 10_000;
/** What a server may ask for with Retry-After. */
const maxRetryMs = 60_000;
/** So many failures one after the other, of different objects, are the server's and not theirs. */
const awayAfterFailures = 3;
/** A write without an answer for so long has others beside it. */
const slowWriteMs = 1000;
const maxWritesUnderWay = 8;
/** How long an event waits at most while pods start: long enough for a burst of them, and no longer than a user looks for it. */
const maxCalmWaitMs = 10_000;
/** How long the events that wait may still be written when the kubelet stops. */
const closeDeadlineMs = 1000;
/** Rejections that were logged once, by namespace and reason. */
const rememberedRejections = 256;

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #source: EventSource;
  readonly #random: () => number;
  readonly #correlator: EventCorrelator;
  readonly #rejections = new LruMap<string, true>(rememberedRejections);
  /** No more sleep, and one try each. */
  readonly #closing = new AbortController();
  /** No more calls. */
  readonly #stop = new AbortController();
  readonly #queue: QueuedEvent[] = [];
  readonly #underWay = new Set<QueuedEvent>();
  #failuresInRow = 0;
  /** Monotonic ms. */
  #awayUntilMs = -Infinity;
  /** Ends the wait for the next event. */
  #wake = () => {};
  /** Ends the wait for calm. */
  #hurry = () => {};
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

  /** Returns at once and never throws. Beyond 1,000 events that wait, the new ones are dropped. */
  record(event: RecordedEvent): void {
    contain(this.#fault(), () => this.#record(event));
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
      event: toCoreEvent(event, this.#source, event.atMs ?? clock.now(), this.#nextNanos()),
      recordedAtMs: clock.monotonic(),
      tries: 0,
      notBeforeMs: -Infinity,
    });
    if (this.#isPressing) this.#hurry();
    this.#wake();
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#running = this.#writeSoon();
  }

  /** Tries to write each event that waits once, for at most a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#hurry();
    this.#wake();
    const cancel = this.#options.clock.after(closeDeadlineMs, () => this.#stop.abort());
    await this.#running;
    cancel();
  }

  /** The wall clock, made unique: it is what tells two events about one object apart. */
  #nextNanos(): bigint {
    const now = BigInt(Math.trunc(this.#options.clock.now())) * 1_000_000n;
    this.#lastNanos = now > this.#lastNanos ? now : this.#lastNanos + 1n;
    return this.#lastNanos;
  }

  async #writeSoon(): Promise<void> {
    const { initialDelayMs: settleMs = 0, clock } = this.#options;
    if (settleMs > 0) await clock.sleep(settleMs, this.#closing.signal).catch(() => {});
    await this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { untilIdle: calm, clock, logger } = this.#options;
    while (this.#queue.length + this.#underWay.size > 0 && !this.#stop.signal.aborted) {
      if (calm && this.#queue.length > 0) await this.#untilCalm(calm);
      const nowMs = this.#closing.signal.aborted ? Infinity : clock.monotonic();
      const next = nextEvent(this.#queue, nowMs, [...this.#underWay]);
      if (this.#underWay.size >= maxWritesUnderWay) await this.#untilWoken(Infinity);
      else if (!('at' in next)) await this.#untilWoken(next.fromMs);
      else if (nowMs < this.#awayUntilMs) await this.#untilWoken(this.#awayUntilMs);
      else await this.#begin(this.#queue.splice(next.at, 1)[0]!);
      if (this.#dropped === 0 || this.#queue.length > maxQueued / 2) continue;
      logger.warn({ dropped: this.#dropped }, 'Events were dropped, too many were queued');
      this.#dropped = 0;
    }
    if (this.#queue.length > 0) logger.warn({ dropped: this.#queue.length }, 'Events are left unwritten at the end');
    this.#isWriting = false;
  }

  /** Resolves when it is written, or takes long. */
  async #begin(queued: QueuedEvent): Promise<void> {
    const { event } = queued;
    queued.correlated ??= contain(this.#fault(), () => this.#correlator.correlate(event)) ?? undefined;
    if (!queued.correlated) return;
    this.#underWay.add(queued);
    const writing = this.#write(queued, queued.correlated).finally(() => {
      this.#underWay.delete(queued);
      this.#wake();
    });
    const { promise: isSlow, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(slowWriteMs, resolve);
    await Promise.race([writing, isSlow]);
    cancel();
  }

  /** Until there may be something to do before that time. */
  async #untilWoken(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const cancel = untilMs === Infinity ? () => {} : clock.after(untilMs - clock.monotonic(), resolve);
    await woken;
    cancel();
  }

  async #untilCalm(calm: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    const waitMs = maxCalmWaitMs - (clock.monotonic() - (this.#queue[0]?.recordedAtMs ?? 0));
    if (waitMs <= 0 || this.#isPressing || this.#closing.signal.aborted) return;
    const over = new AbortController();
    this.#hurry = () => over.abort();
    const cancel = clock.after(waitMs, this.#hurry);
    await calm(over.signal);
    cancel();
    // Nobody listens for it any more.
    over.abort();
  }

  /** Somebody may wait for one of the events, or there are many. */
  get #isPressing(): boolean {
    return this.#queue.length > maxQueued / 2 || this.#queue.some(({ event }) => event.type === 'Warning');
  }

  /** One try. Never rejects. */
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
      // Random at first: the kubelets of a cluster must not all come back with their server at once.
      const retryAfterMs = Math.min(retryAfterOf(err) ?? (tries === 1 ? retryMs * this.#random() : retryMs), maxRetryMs);
      logger.warn({ ...fields, tries, retryAfterMs }, 'Unable to write event (may retry after sleeping)');
      queued.notBeforeMs = clock.monotonic() + retryAfterMs;
      this.#queue.unshift(queued);
      this.#failuresInRow += 1;
      if (this.#failuresInRow >= awayAfterFailures) this.#awayUntilMs = queued.notBeforeMs;
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
        // The server forgets an event after an hour: then it is made anew, with its count.
        if (!isNotFound(err)) throw err;
      }
    }
    await client.call({ ...common, method: 'POST', path: apiPath(...events), body: event });
  }

  /** A namespace that is being terminated, say, refuses every event in it: once is enough. */
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

/** No answer, or one that says later: nothing is wrong with the event. A path that can't be made stays so (client-go: RequestConstructionError). */
function mayBeRetried(err: unknown): boolean {
  return err instanceof ApiError && [0, 429, 503, 504].includes(err.code) && err.reason !== 'Invalid';
}
