/** The pleg thread's parts, wired: records of what the runtime has, looks at single pods, the relist, and the event stream. */
import type { PlegApi, PlegNotification, RuntimeFacts } from '../../shared/contracts/pleg.ts';
import type { CreatedObjects } from '../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
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
  readonly onRelisted: () => void;
  /** Never rejects. */
  readonly readMessage: (source: TerminationMessageSource) => Promise<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** So many things that were left out are remembered as logged. */
const maxLeftOut = 1000;

export class Pleg implements PlegApi {
  readonly #runtime: PlegRuntime;
  readonly #stop = new AbortController();
  readonly #looks: InspectionQueue;
  readonly #relister: Relister;
  readonly #events: EventStream | null;
  readonly #running: Promise<void>;

  /** Begins with a relist at once. */
  constructor(dependencies: PlegDependencies) {
    const { runtime, snapshot, clock, logger, useEventStream, readMessage } = dependencies;
    const { signal } = this.#stop;
    const post = (message: PlegNotification) => {
      if (!signal.aborted) dependencies.post(message);
    };
    this.#runtime = runtime;
    const records = new PodRecords(snapshot, logOnce(logger));
    const looker = new PodInspector({ runtime, records, post, clock, logger, signal, readMessage });
    this.#looks = new InspectionQueue({
      look: async (uid, known, pending) => {
        const beganAtMs = clock.monotonic();
        try {
          return await looker.look(uid, known, pending);
        } finally {
          plegPodRelistDuration.observe((clock.monotonic() - beganAtMs) / 1000);
        }
      },
      tellSoFar: (uid, tookMs, pending) => looker.tellSoFar(uid, tookMs, pending),
      clock,
    });
    const look = (podUID: PodUID, made?: CreatedObjects) => {
      this.#looks.ask(podUID, made).catch((err: unknown) => {
        // The relist will see it.
        plegDiscardEvents.inc();
        logger.debug({ podUID, err }, 'a look that a runtime event asked for failed');
      });
    };
    this.#events = useEventStream ? new EventStream({ runtime, records, look, clock, logger, signal }) : null;
    this.#relister = new Relister({
      ...dependencies,
      post,
      records,
      looks: this.#looks,
      tellListed: (uid, listedAtMs) => looker.tellListed(uid, listedAtMs),
      signal,
      onRuntimeReturned: () => this.#events?.runtimeReturned(),
    });
    this.#events?.start();
    this.#running = this.#relister.run();
  }

  inspectPod(podUID: PodUID, created?: CreatedObjects, sequence?: number): Promise<RuntimePodStatus | null> {
    return this.#looks.ask(podUID, created, sequence);
  }

  relist(): Promise<void> {
    return this.#relister.relist();
  }

  runtimeStatus(): Promise<RuntimeFacts> {
    return this.#runtime.facts(this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the pleg thread is closing'));
    await Promise.all([this.#running, this.#events?.ended()]);
    this.#runtime.close();
  }
}

/** Each item that was left out, and why, once; a list brings it again every second. */
function logOnce(logger: Logger): (id: string, reason: string) => void {
  const logged = new Set<string>();
  return (id, reason) => {
    const key = `${id} ${reason}`;
    if (logged.has(key)) return;
    if (logged.size >= maxLeftOut) logged.clear();
    logged.add(key);
    logger.warn({ id: id.slice(0, 200), reason }, 'an item of the runtime is left out');
  };
}
