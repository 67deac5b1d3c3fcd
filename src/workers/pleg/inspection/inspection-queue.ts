/**
 * Queues inspections of pods: at most one per pod at a time, and a bounded number in all. Requests during an inspection share the pod's
 * next one, which starts after all of them. A slow inspection frees its slot and continues, so it delays no other pod.
 */
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** An inspection makes a few calls of one millisecond. A higher limit would only queue calls in the runtime. */
const maxParallelInspections = 16;
/** An inspection of this duration counts as slow. Loaded runtimes need far less, and the deadline of a call is far longer. */
export const slowInspectionMs = 2000;
/** Exceeds the number of pods of any node. Only a malfunctioning runtime causes more requests. */
const maxQueued = 10_000;

/** The objects that are known without another list: those of the relist that started at `listedAtMs`, or those that a task created. */
export type KnownObjects = { readonly listedAtMs: number } | { readonly created: CreatedObjects };

interface Inspection {
  /** Undefined when the inspection must list the pod. */
  known: KnownObjects | undefined;
  /** Main has requested the inspection, and gets its result also without a change. False when only this thread has. */
  forMain: boolean;
  readonly result: PromiseWithResolvers<void>;
  /** Resolves with true when main has the result, or knows that the inspection is slow; with false when the inspection has failed. */
  readonly reported: PromiseWithResolvers<boolean>;
}

export interface UnreportedInspection {
  readonly uid: PodUID;
  /** `Inspection.reported`. */
  readonly reported: Promise<boolean>;
}

interface PodInspections {
  running: Inspection | null;
  next: Inspection | null;
}

export interface InspectionQueueDependencies {
  /** PodInspector.inspect. */
  readonly inspect: (uid: PodUID, known: KnownObjects | undefined, observedAtMs: number, forMain: boolean) => Promise<void>;
  /** PodInspector.postPartialStatus. */
  readonly postPartialStatus: (uid: PodUID, tookMs: number, observedAtMs: number) => void;
  readonly clock: Clock;
}

export class InspectionQueue {
  readonly #deps: InspectionQueueDependencies;
  readonly #pods = new Map<PodUID, PodInspections>();
  /** Pods whose next inspection waits for a slot. */
  readonly #queued: PodUID[] = [];
  /** The running inspections that are not slow. */
  #slotsInUse = 0;

  constructor(dependencies: InspectionQueueDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Requests an inspection that starts after this call. The inspection lists the pod unless `created` names the new objects. Resolves when
   * the result is posted. Rejects like PodInspector.inspect, or when the queue is full.
   */
  inspect(uid: PodUID, created?: CreatedObjects, forMain = false): Promise<void> {
    const inspection = this.#enqueue(uid, created && { created }, forMain);
    return inspection
      ? inspection.result.promise
      : Promise.reject(new Error(`the inspection queue is full with ${maxQueued} pods; cannot inspect pod ${uid}`));
  }

  /** Requests an inspection after the relist that started at `listedAtMs`. */
  inspectListed(uid: PodUID, listedAtMs: number): void {
    this.#enqueue(uid, { listedAtMs }, false);
  }

  /** Each pod's latest queued or running inspection. */
  unreported(): UnreportedInspection[] {
    return [...this.#pods].flatMap(([uid, { running, next }]) => {
      const inspection = next ?? running;
      return inspection ? [{ uid, reported: inspection.reported.promise }] : [];
    });
  }

  #enqueue(uid: PodUID, known: KnownObjects | undefined, forMain: boolean): Inspection | undefined {
    const pod = this.#pods.get(uid) ?? { running: null, next: null };
    if (pod.next) {
      pod.next.known = mergeKnownObjects(pod.next.known, known);
      pod.next.forMain ||= forMain;
      return pod.next;
    }
    if (this.#queued.length >= maxQueued) return undefined;
    const inspection: Inspection = { known, forMain, result: Promise.withResolvers(), reported: Promise.withResolvers() };
    // Relists do not await the result, and other callers may no longer do so.
    inspection.result.promise.catch(() => {});
    pod.next = inspection;
    this.#pods.set(uid, pod);
    if (!pod.running) this.#queued.push(uid);
    this.#startQueued();
    return inspection;
  }

  /** Starts inspections in free slots. Runs in a microtask, so requests of the same event-loop task share an inspection. */
  #startQueued(): void {
    queueMicrotask(() => {
      while (this.#slotsInUse < maxParallelInspections) {
        const uid = this.#queued.shift();
        if (uid === undefined) return;
        void this.#run(uid, this.#pods.get(uid)!);
      }
    });
  }

  async #run(uid: PodUID, pod: PodInspections): Promise<void> {
    const { inspect, postPartialStatus, clock } = this.#deps;
    const inspection = pod.next!;
    pod.next = null;
    pod.running = inspection;
    const startedAtMs = clock.monotonic();
    const { known } = inspection;
    // The partial and the complete status have the same time: main drops a status that is older than its own.
    const observedAtMs = known && 'listedAtMs' in known ? known.listedAtMs : startedAtMs;
    this.#slotsInUse += 1;
    let slow = false;
    const cancel = clock.after(slowInspectionMs, () => {
      slow = true;
      this.#slotsInUse -= 1;
      postPartialStatus(uid, clock.monotonic() - startedAtMs, observedAtMs);
      inspection.reported.resolve(true);
      this.#startQueued();
    });
    try {
      await inspect(uid, known, observedAtMs, inspection.forMain);
      inspection.result.resolve();
      inspection.reported.resolve(true);
    } catch (err) {
      inspection.result.reject(err);
      inspection.reported.resolve(false);
    }
    cancel();
    if (!slow) this.#slotsInUse -= 1;
    pod.running = null;
    if (pod.next) this.#queued.push(uid);
    else this.#pods.delete(uid);
    this.#startQueued();
  }
}

/** Merges the known objects of two requests that share an inspection. Returns undefined when they differ in kind: a list covers both. */
function mergeKnownObjects(a: KnownObjects | undefined, b: KnownObjects | undefined): KnownObjects | undefined {
  if (!a || !b) return undefined;
  if ('listedAtMs' in a) return 'listedAtMs' in b ? a : undefined;
  if ('listedAtMs' in b) return undefined;
  const sandbox = a.created.sandbox ?? b.created.sandbox;
  return { created: { ...(sandbox && { sandbox }), containers: [...a.created.containers, ...b.created.containers] } };
}
