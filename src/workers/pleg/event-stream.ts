/**
 * The runtime's own events, where it has them (GetContainerEvents): they say at once which pod to look at. They say nothing more
 * here: containerd hands each to one subscriber only, keeps them while nobody listens, and puts one sandbox's containers into them, so an
 * event's statuses may be old or partial, and a look costs a few milliseconds. The relist stays what it is without them, each
 * second: unchanged it costs next to nothing, and it is what finds a lost event.
 */
import { noCreatedObjects, type CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import { isUnimplemented } from '../../shared/cri/cri-error.ts';
import { ContainerEventType, type ContainerEventResponse } from '../../shared/cri/generated/cri-v1.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { eventedPlegConn, eventedPlegConnErr, eventedPlegConnLatency } from '../../shared/metrics/definitions/pleg.ts';
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { PlegRuntime } from './pleg-runtime.ts';
import { startPatienceMs, type PodRecords } from './records/pod-records.ts';

const reconnectBackoff = { initialMs: 100, maxMs: 5000 };
/** A stream that has not broken for so long is one: the runtime sends nothing until its first event. */
const settledAfterMs = 1000;

export interface EventStreamDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  /** Asks for a look at the pod, now. `made`: what is new of it, where that is known. */
  readonly look: (uid: PodUID, made?: CreatedObjects) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class EventStream {
  readonly #deps: EventStreamDependencies;
  readonly #delayed = new Map<PodUID, number>();
  /** The runtime has no such call: it may have, once it was away and is back. */
  #absent = false;
  #broken = false;
  #running: Promise<void> = Promise.resolve();

  constructor(dependencies: EventStreamDependencies) {
    this.#deps = dependencies;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** The runtime is back, perhaps another version of it. */
  runtimeReturned(): void {
    if (this.#absent && !this.#deps.signal.aborted) this.start();
  }

  /** Resolves when the stream has ended, after the signal. */
  ended(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    const { logger, clock, signal } = this.#deps;
    this.#absent = false;
    let backoffMs: number | undefined;
    while (!signal.aborted) {
      try {
        const delivered = await this.#read();
        if (delivered) backoffMs = undefined;
        this.#setBroken(new Error('GetContainerEvents: the runtime ended the stream'));
      } catch (err) {
        if (isUnimplemented(err)) {
          logger.debug({ err }, 'the runtime has no event stream; relists alone tell what changes');
          this.#absent = true;
          return;
        }
        this.#setBroken(err);
      }
      backoffMs = nextBackoffMs(backoffMs, reconnectBackoff);
      await clock.sleep(withJitter(backoffMs, 0.2), signal).catch(() => {});
    }
  }

  /** Until the stream ends. Answers whether it ever was one. */
  async #read(): Promise<boolean> {
    const { runtime, clock, signal } = this.#deps;
    let settled = false;
    const settle = () => {
      if (settled) return;
      settled = true;
      this.#setWhole();
    };
    const cancel = clock.after(settledAfterMs, settle);
    try {
      for await (const event of runtime.events(signal)) {
        settle();
        this.#hear(event);
      }
    } finally {
      cancel();
    }
    return settled;
  }

  #setWhole(): void {
    eventedPlegConn.inc();
    if (this.#broken) this.#deps.logger.info('the event stream of the runtime is back');
    this.#broken = false;
  }

  #setBroken(err: unknown): void {
    const { logger, signal } = this.#deps;
    if (signal.aborted) return;
    eventedPlegConnErr.inc();
    if (!this.#broken) logger.warn({ err }, 'the event stream of the runtime broke; relists alone tell what changes until it is back');
    this.#broken = true;
  }

  #hear(event: ContainerEventResponse): void {
    const { records, look, clock, logger } = this.#deps;
    eventedPlegConnLatency.observe(clock.now() / 1000 - Number(event.createdAt) / 1e9);
    const known = records.doubt(event.containerId);
    // Without a sandbox status: the sandbox was removed meanwhile.
    const uid = event.podSandboxStatus?.metadata?.uid ?? known?.uid;
    logger.trace({ podUID: uid, containerID: event.containerId, type: event.containerEventType }, 'runtime event');
    if (uid === undefined || uid === '') return;
    if (isStart(event)) this.#lookLater(uid as PodUID);
    // The end of what is known makes nothing new.
    else if (known) look(known.uid, noCreatedObjects);
    else look(uid as PodUID);
  }

  /** One look for all starts of a pod within that patience, and none when another look has seen them. */
  #lookLater(uid: PodUID): void {
    const { records, look, clock, signal } = this.#deps;
    const heardAtMs = clock.monotonic();
    const waits = this.#delayed.has(uid);
    this.#delayed.set(uid, heardAtMs);
    if (waits) return;
    clock.after(startPatienceMs, () => {
      const newestMs = this.#delayed.get(uid)!;
      this.#delayed.delete(uid);
      const seenAtMs = records.get(uid)?.posted?.observedAtMs ?? -Infinity;
      if (!signal.aborted && seenAtMs < newestMs) look(uid);
    });
  }
}

function isStart({ containerEventType: type }: ContainerEventResponse): boolean {
  return type === ContainerEventType.CONTAINER_CREATED_EVENT || type === ContainerEventType.CONTAINER_STARTED_EVENT;
}
