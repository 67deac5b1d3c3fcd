/**
 * Subscribes to the runtime's events (GetContainerEvents), which trigger immediate inspections. The statuses in the events are ignored:
 * containerd delivers each event to one subscriber only, queues events without a subscriber, and includes the containers of one sandbox
 * only, so the statuses may be outdated or partial. An inspection costs a few milliseconds. Relists continue every second, because an
 * unchanged relist costs almost nothing and a relist detects lost events.
 */
import { noCreatedObjects, type CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import { isUnimplemented } from '../../shared/cri/cri-error.ts';
import type { RuntimeEvent } from '../../shared/cri/decode-event.ts';
import { ContainerEventType } from '../../shared/cri/generated/cri-v1.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { eventedPlegConn, eventedPlegConnErr, eventedPlegConnLatency } from '../../shared/metrics/definitions/pleg.ts';
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { computeRemovalDelayMs, DelayedInspections } from './inspection/delayed-inspections.ts';
import type { PlegRuntime } from './pleg-runtime.ts';
import type { PodRecords } from './records/pod-records.ts';
import { startInspectionDelayMs } from './records/pods-to-inspect.ts';

const reconnectBackoff = { initialMs: 100, maxMs: 5000 };
/** A stream without an error for this time counts as connected, because the runtime sends nothing before its first event. */
const connectedAfterMs = 1000;

export interface EventStreamDependencies {
  readonly runtime: PlegRuntime;
  readonly records: PodRecords;
  /** Requests an inspection of the pod. `created` names the new objects, if they are known. */
  readonly inspect: (uid: PodUID, created?: CreatedObjects) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class EventStream {
  readonly #deps: EventStreamDependencies;
  /** Inspections after the creation or the start of a container or sandbox. */
  readonly #starts: DelayedInspections;
  /** Inspections after the removal of an ended container or sandbox. */
  readonly #removals: DelayedInspections;
  /** The runtime does not implement the call. A restarted runtime may be another version that does. */
  #unsupported = false;
  #broken = false;
  /** Settles when the stream is no longer read. */
  #running: Promise<void> = Promise.resolve();

  constructor(dependencies: EventStreamDependencies) {
    this.#deps = dependencies;
    const { inspect } = dependencies;
    this.#starts = new DelayedInspections({ ...dependencies, inspect: (uid) => inspect(uid) });
    this.#removals = new DelayedInspections({ ...dependencies, inspect: (uid) => inspect(uid, noCreatedObjects) });
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Called when the runtime is available again, possibly in another version. */
  runtimeReturned(): void {
    if (this.#unsupported && !this.#deps.signal.aborted) this.start();
  }

  /** Resolves when the stream has ended after the signal. */
  ended(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    const { logger, clock, signal } = this.#deps;
    this.#unsupported = false;
    let backoffMs: number | undefined;
    while (!signal.aborted) {
      try {
        const connected = await this.#read();
        if (connected) backoffMs = undefined;
        this.#onBroken(new Error('GetContainerEvents: the runtime ended the stream'));
      } catch (err) {
        if (isUnimplemented(err)) {
          logger.debug({ err }, 'The runtime has no event stream, using relists only');
          this.#unsupported = true;
          return;
        }
        this.#onBroken(err);
      }
      backoffMs = nextBackoffMs(backoffMs, reconnectBackoff);
      await clock.sleep(withJitter(backoffMs, 0.2), signal).catch(() => {});
    }
  }

  /** Reads the stream to its end. Returns whether it was connected. */
  async #read(): Promise<boolean> {
    const { runtime, clock, signal } = this.#deps;
    let connected = false;
    const setConnected = () => {
      if (connected) return;
      connected = true;
      this.#onConnected();
    };
    const cancel = clock.after(connectedAfterMs, setConnected);
    try {
      for await (const event of runtime.events(signal)) {
        setConnected();
        this.#handleEvent(event);
      }
    } finally {
      cancel();
    }
    return connected;
  }

  #onConnected(): void {
    eventedPlegConn.inc();
    if (this.#broken) this.#deps.logger.info('The event stream of the runtime is restored');
    this.#broken = false;
  }

  #onBroken(err: unknown): void {
    const { logger, signal } = this.#deps;
    if (signal.aborted) return;
    eventedPlegConnErr.inc();
    if (!this.#broken) logger.warn({ err }, 'The event stream of the runtime broke, using relists only until it is restored');
    this.#broken = true;
  }

  #handleEvent(event: RuntimeEvent): void {
    const { records, inspect, clock, logger } = this.#deps;
    eventedPlegConnLatency.observe(clock.now() / 1000 - Number(event.createdAt) / 1e9);
    const known = records.invalidate(event.containerId);
    // The sandbox status is absent when the sandbox was removed meanwhile.
    const uid = (event.podSandboxStatus?.metadata?.uid ?? known?.pod.uid) as PodUID | undefined;
    logger.trace({ podUID: uid, containerID: event.containerId, type: event.containerEventType }, 'runtime event');
    if (uid === undefined || uid === '') return;
    if (isStart(event)) return this.#starts.request(uid, startInspectionDelayMs);
    if (!known) {
      // A relist or an inspection has already found what is gone.
      if (!isRemoval(event)) inspect(uid);
      return;
    }
    const delayMs = isRemoval(event) && known.wasFinal ? computeRemovalDelayMs(known.pod.items.size) : 0;
    if (delayMs > 0) this.#removals.request(known.pod.uid, delayMs);
    // The end of a known item creates no new objects.
    else inspect(known.pod.uid, noCreatedObjects);
  }
}

function isRemoval({ containerEventType: type }: RuntimeEvent): boolean {
  return type === ContainerEventType.CONTAINER_DELETED_EVENT;
}

function isStart({ containerEventType: type }: RuntimeEvent): boolean {
  return type === ContainerEventType.CONTAINER_CREATED_EVENT || type === ContainerEventType.CONTAINER_STARTED_EVENT;
}
