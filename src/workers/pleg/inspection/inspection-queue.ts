/**
 * Whose turn it is to be looked at. One look a pod at a time, a bounded number in all; who asks while one is under way gets the next,
 * begun after the question, and shares it with all who ask until it begins. A look that takes long gives its place to the others and goes on
 * alone: it costs its own pod its deadline, and nobody else anything.
 */
import type { CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** A look is a few calls of a millisecond; more at once would only queue in the runtime. */
const looksAtOnce = 16;
/** After this long a look counts as slow: far above what a loaded runtime takes, far below a call's deadline. */
export const slowLookMs = 2000;
/** More pods than a node can have: only a runtime gone mad asks for more. */
const maxWaiting = 10_000;

type Looked = RuntimePodStatus | null;

/** What makes a list of the pod needless: the relist that began then has listed it, or what was made of it since is known. */
export type KnownSince = { readonly listedAtMs: number } | { readonly made: CreatedObjects };

interface Turn {
  /** Undefined: the pod must be listed anew. */
  known: KnownSince | undefined;
  /** The number of main's request, if that has one. */
  sequence: number | undefined;
  readonly result: PromiseWithResolvers<Looked>;
  /** The look ended, or main was told that it is slow. */
  readonly told: PromiseWithResolvers<void>;
}

/** Main's numbered request that is pending for a pod. An inspection reads the number when it posts: a request may come meanwhile. */
export interface PendingRequest {
  readonly sequence: number | undefined;
}

class PodTurns implements PendingRequest {
  running: Turn | null = null;
  next: Turn | null = null;

  get sequence(): number | undefined {
    return this.next?.sequence ?? this.running?.sequence;
  }
}

export interface InspectionQueueDependencies {
  /** As PodLooker's. */
  readonly look: (uid: PodUID, known: KnownSince | undefined, pending: PendingRequest) => Promise<Looked>;
  readonly tellSoFar: (uid: PodUID, tookMs: number, pending: PendingRequest) => void;
  readonly clock: Clock;
}

export class InspectionQueue {
  readonly #deps: InspectionQueueDependencies;
  readonly #pods = new Map<PodUID, PodTurns>();
  readonly #waiting: PodUID[] = [];
  #running = 0;

  constructor(dependencies: InspectionQueueDependencies) {
    this.#deps = dependencies;
  }

  /**
   * A look that begins after this call, and lists the pod itself, unless `made` says what there is new of it. Rejects as PodLooker.look
   * does, or when far too many wait.
   */
  ask(uid: PodUID, made?: CreatedObjects, sequence?: number): Promise<Looked> {
    const turn = this.#turn(uid, made && { made }, sequence);
    return turn ? turn.result.promise : Promise.reject(new Error(`${maxWaiting} pods wait to be looked at; pod ${uid} can't`));
  }

  /** A look after a relist that began at `listedAtMs`. Resolves once main was told what it saw, or that it is slow. Never rejects. */
  inspect(uid: PodUID, listedAtMs: number): Promise<void> {
    return this.#turn(uid, { listedAtMs })?.told.promise ?? Promise.resolve();
  }

  /** Looks under way that main has not been told about yet. */
  untold(): Promise<void>[] {
    return Array.from(this.#pods.values(), ({ running, next }) => (next ?? running)?.told.promise).filter((told) => told !== undefined);
  }

  #turn(uid: PodUID, known: KnownSince | undefined, sequence?: number): Turn | undefined {
    const pod = this.#pods.get(uid) ?? new PodTurns();
    if (pod.next) {
      pod.next.known = together(pod.next.known, known);
      pod.next.sequence = sequence ?? pod.next.sequence;
      return pod.next;
    }
    if (this.#waiting.length >= maxWaiting) return undefined;
    const turn: Turn = { known, sequence, result: Promise.withResolvers(), told: Promise.withResolvers() };
    // Who asked may have stopped listening; a relist never does listen.
    turn.result.promise.catch(() => {});
    pod.next = turn;
    this.#pods.set(uid, pod);
    if (!pod.running) this.#waiting.push(uid);
    this.#begin();
    return turn;
  }

  /** Begins what there is room for; in a microtask, so that those who ask together share a look. */
  #begin(): void {
    queueMicrotask(() => {
      while (this.#running < looksAtOnce) {
        const uid = this.#waiting.shift();
        if (uid === undefined) return;
        void this.#run(uid, this.#pods.get(uid)!);
      }
    });
  }

  async #run(uid: PodUID, pod: PodTurns): Promise<void> {
    const { look, tellSoFar, clock } = this.#deps;
    const turn = pod.next!;
    pod.next = null;
    pod.running = turn;
    const beganAtMs = clock.monotonic();
    this.#running += 1;
    let slow = false;
    const cancel = clock.after(slowLookMs, () => {
      slow = true;
      this.#running -= 1;
      tellSoFar(uid, clock.monotonic() - beganAtMs, pod);
      turn.told.resolve();
      this.#begin();
    });
    try {
      turn.result.resolve(await look(uid, turn.known, pod));
    } catch (err) {
      turn.result.reject(err);
    }
    cancel();
    turn.told.resolve();
    if (!slow) this.#running -= 1;
    pod.running = null;
    if (pod.next) this.#waiting.push(uid);
    else this.#pods.delete(uid);
    this.#begin();
  }
}

/** What two who share a look know. Where they know different things, a list knows all of it. */
function together(a: KnownSince | undefined, b: KnownSince | undefined): KnownSince | undefined {
  if (!a || !b) return undefined;
  if ('listedAtMs' in a) return 'listedAtMs' in b ? a : undefined;
  if ('listedAtMs' in b) return undefined;
  const sandbox = a.made.sandbox ?? b.made.sandbox;
  return { made: { ...(sandbox && { sandbox }), containers: [...a.made.containers, ...b.made.containers] } };
}
