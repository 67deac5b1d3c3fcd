/**
 * Lets few syncs go on in each turn of the event loop, those with something to do first, and few pods begin at a time. A kubelet that starts
 * beside a hundred running pods has a hundred syncs to send away: each costs a millisecond or three, and all in one turn would hold up the
 * node's lease, the API server's answers and the one pod that is new for a second. Nor do the pool's threads get all of them at once: what they
 * only find to be as it should be comes in the way of the pod that is to start. And of a hundred new pods the first would wait for the folders,
 * cgroups, tokens and first statuses of all, though the runtime takes a few at a time: so each begins shortly before it is its turn there.
 */
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { StartRank } from './start-admission.ts';

/** So many, and the loop comes round within some ten milliseconds. */
const perTurn = 4;
/** Syncs that will find nothing to do, at a time: they wait for next to nothing, so that more of them are not done sooner. */
const others = { limit: 4, besideBusy: 1 };
/** Beside pods that have something to do, one of them begins in so many ms: each costs threads and runtime some 10 ms of those pods' time. */
const otherPeriodMs = 100;
/** So long the first of them waits: a kubelet that begins finds its pods in a row, and one that has something to do may be the last. */
const firstOtherAfterMs = 200;
/** Pods on their way to a sandbox, at least: while the runtime is given few starts at a time, more of them only come in each other's way. */
const minBegins = 4;
/** So long, at most, a sync that has something to do holds up the others: until it is over, also where another pod may begin beside it. */
const busyMs = 2000;
/** One that takes longer waits for something else than a core (a value, a volume, an image, the runtime): it does not count any more. */
const countedMs = { urgent: 2000, begin: 1000, other: 100 };

/** `begin`: the runtime knows nothing of the pod yet; `urgent`: something else is to be done for it; `other`: nothing, as far as is known. */
export type TurnKind = keyof typeof countedMs;

/** By rank goes first who begins, and none waits for less important ones. */
export interface TurnRequest extends StartRank {
  readonly uid: PodUID;
  readonly kind: TurnKind;
}

/** A place in the line. */
export interface Turn {
  /** The sync may go on. */
  readonly granted: Promise<void>;
  /** It has become urgent. */
  hurry(): void;
  /** The sync is over, or will not be. Said once or more. */
  over(): void;
}

interface Waiter {
  kind: TurnKind;
  readonly request: TurnRequest;
  readonly grant: () => void;
  /** It does not count any more. */
  release: () => void;
  /** It holds up none of the others any more. */
  makeWay: () => void;
}

export class TurnPace {
  readonly #clock: Clock;
  readonly #startLimit: () => number;
  #granted = 0;
  /** Monotonic ms: no sync that will find nothing begins before. Infinity: nobody has asked for a turn yet. */
  #firstOtherAtMs = Infinity;
  /** The same beside pods that have something to do. */
  #nextOtherAtMs = -Infinity;
  #isCounting = false;
  readonly #waiting = { urgent: new Set<Waiter>(), begin: new Set<Waiter>(), other: new Set<Waiter>() };
  /** Those that have something to do. */
  readonly #busy = new Set<Waiter>();
  readonly #underWay = { urgent: new Set<Waiter>(), begin: new Set<Waiter>(), other: new Set<Waiter>() };

  /** `startLimit`: starts that the runtime is given at a time, now. So many wait for theirs, lest it waits for them. */
  constructor(clock: Clock, startLimit: () => number) {
    this.#clock = clock;
    this.#startLimit = startLimit;
  }

  /** Granted at once for the first few of a turn, for all others later. */
  turn(request: TurnRequest): Turn {
    const { promise: granted, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { kind: request.kind, request, grant: resolve, release: () => {}, makeWay: () => {} };
    this.#waiting[waiter.kind].add(waiter);
    if (this.#firstOtherAtMs === Infinity) this.#holdFirstOther();
    this.#admit();
    return {
      granted,
      hurry: () => {
        if (waiter.kind === 'urgent' || !this.#waiting[waiter.kind].delete(waiter)) return;
        waiter.kind = 'urgent';
        this.#waiting.urgent.add(waiter);
        this.#admit();
      },
      over: () => {
        this.#waiting[waiter.kind].delete(waiter);
        waiter.release();
        waiter.makeWay();
      },
    };
  }

  /** The pod's sandbox is about to be made: another pod may begin. */
  hasBegun(uid: PodUID): void {
    for (const waiter of this.#underWay.begin) if (waiter.request.uid === uid) return waiter.release();
  }

  #admit(): void {
    while (this.#granted < perTurn) {
      const next = this.#next();
      if (!next) return;
      this.#grant(next);
    }
  }

  #next(): Waiter | undefined {
    const [urgent] = this.#waiting.urgent;
    if (urgent) return urgent;
    const begin = this.#nextBegin();
    if (begin) return begin;
    const isBusy = this.#busy.size > 0;
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#firstOtherAtMs || (isBusy && nowMs < this.#nextOtherAtMs)) return undefined;
    const [other] = this.#underWay.other.size < (isBusy ? others.besideBusy : others.limit) ? this.#waiting.other : [];
    return other;
  }

  #nextBegin(): Waiter | undefined {
    let first: Waiter | undefined;
    for (const waiter of this.#waiting.begin) if (!first || goesBefore(waiter.request, first.request)) first = waiter;
    if (!first) return undefined;
    const { priority } = first.request;
    const before = [...this.#underWay.begin].filter(({ request }) => request.priority >= priority);
    return before.length < Math.max(minBegins, this.#startLimit()) ? first : undefined;
  }

  #grant(waiter: Waiter): void {
    const { kind } = waiter;
    this.#waiting[kind].delete(waiter);
    this.#granted += 1;
    this.#underWay[kind].add(waiter);
    const cancel = this.#clock.after(countedMs[kind], () => waiter.release());
    waiter.release = () => {
      waiter.release = () => {};
      cancel();
      this.#underWay[kind].delete(waiter);
      this.#admit();
    };
    if (kind === 'other') this.#holdOthers();
    else this.#setBusy(waiter);
    if (!this.#isCounting) setImmediate(() => this.#nextTurn());
    this.#isCounting = true;
    waiter.grant();
  }

  #setBusy(waiter: Waiter): void {
    this.#busy.add(waiter);
    const cancel = this.#clock.after(busyMs, () => waiter.makeWay());
    waiter.makeWay = () => {
      waiter.makeWay = () => {};
      cancel();
      this.#busy.delete(waiter);
      this.#admit();
    };
  }

  #holdFirstOther(): void {
    this.#firstOtherAtMs = this.#clock.monotonic() + firstOtherAfterMs;
    this.#clock.after(firstOtherAfterMs, () => this.#admit());
  }

  #holdOthers(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs < this.#nextOtherAtMs) return;
    this.#nextOtherAtMs = nowMs + otherPeriodMs;
    this.#clock.after(otherPeriodMs, () => this.#admit());
  }

  #nextTurn(): void {
    this.#granted = 0;
    this.#isCounting = false;
    this.#admit();
  }
}

function goesBefore(a: StartRank, b: StartRank): boolean {
  return a.priority === b.priority ? a.podSeenAtMs < b.podSeenAtMs : a.priority > b.priority;
}
