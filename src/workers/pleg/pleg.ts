/**
 * Wires the parts of the pleg thread: the records of the runtime's items, the inspections of single pods, the relist, and the event
 * stream.
 */
import type { PlegApi, PlegNotification, RuntimeInfo } from '../../shared/contracts/pleg.ts';
import type { CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { plegDiscardEvents, plegPodRelistDuration } from '../../shared/metrics/definitions/pleg.ts';
import type { RuntimeSnapshotWriter } from '../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../shared/time/clock.ts';
import { EventStream } from './event-stream.ts';
import { InspectionQueue } from './inspection/inspection-queue.ts';
import type { PlegRuntime } from './pleg-runtime.ts';
import { PodInspector } from './inspection/pod-inspector.ts';
import { PodRecords } from './records/pod-records.ts';
import { Relister } from './relist/relister.ts';
import type { TerminationMessageSource } from './runtime-status/termination-message.ts';

export interface PlegDependencies {
  readonly runtime: PlegRuntime;
  readonly snapshot: RuntimeSnapshotWriter;
  readonly post: (message: PlegNotification) => void;
  readonly relistPeriodMs: number;
  readonly useEventStream: boolean;
  /** See RelisterDependencies. */
  readonly onListing: () => void;
  readonly onListed: () => void;
  readonly onRelisted: () => void;
  /** Never rejects. */
  readonly readMessage: (source: TerminationMessageSource) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Limits the memory of logOnce. */
const maxLoggedItems = 1000;

export class Pleg implements PlegApi {
  readonly #runtime: PlegRuntime;
  readonly #stop = new AbortController();
  readonly #inspections: InspectionQueue;
  readonly #relister: Relister;
  readonly #events: EventStream | null;
  readonly #relisting: Promise<void>;

  /** Starts with an immediate relist. */
  constructor(dependencies: PlegDependencies) {
    const { runtime, snapshot, clock, logger, useEventStream, readMessage } = dependencies;
    const { signal } = this.#stop;
    const post = (message: PlegNotification) => {
      if (!signal.aborted) dependencies.post(message);
    };
    this.#runtime = runtime;
    const records = new PodRecords(snapshot, logOnce(logger));
    const inspectLater = (uid: PodUID, delayMs: number) => {
      clock.after(delayMs, () => {
        if (!signal.aborted) inspect(uid);
      });
    };
    const inspector = new PodInspector({ runtime, records, post, clock, logger, signal, readMessage, inspectLater });
    this.#inspections = new InspectionQueue({
      inspect: async (...request) => {
        const startedAtMs = clock.monotonic();
        try {
          await inspector.inspect(...request);
        } finally {
          plegPodRelistDuration.observe((clock.monotonic() - startedAtMs) / 1000);
        }
      },
      postPartialStatus: (...args) => inspector.postPartialStatus(...args),
      clock,
    });
    const inspect = (podUID: PodUID, created?: CreatedObjects) => {
      this.#inspections.inspect(podUID, created).catch((err: unknown) => {
        // The next relist detects the change.
        plegDiscardEvents.inc();
        logger.debug({ podUID, err }, 'Failed to inspect a pod after a runtime event');
      });
    };
    this.#events = useEventStream ? new EventStream({ runtime, records, inspect, clock, logger, signal }) : null;
    this.#relister = new Relister({
      ...dependencies,
      post,
      records,
      inspections: this.#inspections,
      postListedStatus: (uid, listedAtMs) => inspector.postListedStatus(uid, listedAtMs),
      signal,
      onRuntimeReturned: () => this.#events?.runtimeReturned(),
    });
    this.#events?.start();
    this.#relisting = this.#relister.run();
  }

  inspectPod(podUID: PodUID, created?: CreatedObjects): Promise<void> {
    return this.#inspections.inspect(podUID, created, true);
  }

  relist(): Promise<void> {
    return this.#relister.relist();
  }

  runtimeInfo(): Promise<RuntimeInfo> {
    return this.#runtime.runtimeInfo(this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the pleg thread is closing'));
    await Promise.all([this.#relisting, this.#events?.ended()]);
    this.#runtime.close();
  }
}

/** Logs each skipped item and its reason once, because every list contains the item again. */
function logOnce(logger: Logger): (id: string, reason: string) => void {
  const loggedItems = new Set<string>();
  return (id, reason) => {
    const key = `${id} ${reason}`;
    if (loggedItems.has(key)) return;
    if (loggedItems.size >= maxLoggedItems) loggedItems.clear();
    loggedItems.add(key);
    logger.warn({ id: id.slice(0, 200), reason }, 'Skipped an item of the runtime');
  };
}
