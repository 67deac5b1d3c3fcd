/**
 * Lets few syncs go on in each turn of the event loop, those with something to do first, and few pods begin at a time. A kubelet that starts
 * beside a hundred running pods has a hundred syncs to send away: each costs a millisecond or three, and all in one turn would hold up the
 * node's lease, the API server's answers and the one pod that is new for a second. Nor do the pool's threads get all of them at once: what they
 * only find to be as it should be comes in the way of the pod that is to start. And of a hundred new pods the first would wait for the folders,
 * cgroups and tokens of all, though the runtime takes a few at a time: so each begins shortly before it is its turn there.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ResyncThrottle } from './resync-throttle.ts';
import type { StartRank } from './start-admission.ts';

/** So many, and the loop comes round within some ten milliseconds. */
const perTurn = 4;
/** Pods on their way to a sandbox, at least: while the runtime is given few starts at a time, more of them only come in each other's way. */
const minBegins = 2;
/** One that takes longer waits for something else than a core (a value, a volume, an image, the runtime): it does not count any more. */
const countedMs = { urgent: 2000, begin: 1000, other: 100 };
/** Of one that waits for nothing but its turn at the runtime: who begins behind it waits too. Not for good: its user is to see that it is known. */
const queuedMs = 10_000;

/** `begin`: the runtime knows nothing of the pod yet; `urgent`: something else is to be done for it; `other`: nothing, as far as is known. */
export type SyncKind = keyof typeof countedMs;

/** By rank goes first who begins, and none waits for less important ones. */
export interface SyncSlotRequest extends StartRank {
  readonly uid: PodUID;
  readonly kind: SyncKind;
}

/** A place in the line. */
export interface SyncSlot {
  /** The sync may go on. */
  readonly granted: Promise<void>;
  /** It has become urgent. */
  prioritize(): void;
  /** The sync is over, or will not be. Said once or more. */
  release(): void;
}

interface Waiter {
  kind: SyncKind;
  readonly request: SyncSlotRequest;
  readonly grant: () => void;
  /** Counts for so long from now, at most. */
  count: (ms: number) => void;
  /** It does not count any more. */
  release: () => void;
  /** It holds up none of the others any more. */
  makeWay: () => void;
}

export class SyncSlots {
  readonly #clock: Clock;
  readonly #startLimit: () => number;
  readonly #others: ResyncThrottle;
  #granted = 0;
  #isCounting = false;
  readonly #waiting = { urgent: new Set<Waiter>(), begin: new Set<Waiter>(), other: new Set<Waiter>() };
  readonly #underWay = { urgent: new Set<Waiter>(), begin: new Set<Waiter>(), other: new Set<Waiter>() };

  /** `startLimit`: starts that the runtime is given at a time, now. So many wait for theirs, lest it waits for them. */
  constructor(clock: Clock, startLimit: () => number) {
    this.#clock = clock;
    this.#startLimit = startLimit;
    this.#others = new ResyncThrottle(clock, () => this.#admit());
  }

  /** Granted at once for the first few of a turn, for all others later. */
  requestSlot(request: SyncSlotRequest): SyncSlot {
    const { promise: granted, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { kind: request.kind, request, grant: resolve, count: () => {}, release: () => {}, makeWay: () => {} };
    this.#waiting[waiter.kind].add(waiter);
    this.#others.asked();
    this.#admit();
    return {
      granted,
      prioritize: () => {
        if (waiter.kind === 'urgent' || !this.#waiting[waiter.kind].delete(waiter)) return;
        waiter.kind = 'urgent';
        this.#waiting.urgent.add(waiter);
        this.#admit();
      },
      release: () => {
        this.#waiting[waiter.kind].delete(waiter);
        waiter.release();
        waiter.makeWay();
      },
    };
  }

  /** All that the pod waits for is its turn at the runtime. */
  isQueued(uid: PodUID): void {
    this.#begun(uid)?.count(queuedMs);
  }

  /** The pod's sandbox is about to be made: another pod may begin. */
  hasBegun(uid: PodUID): void {
    this.#begun(uid)?.release();
  }

  #begun(uid: PodUID): Waiter | undefined {
    for (const waiter of this.#underWay.begin) if (waiter.request.uid === uid) return waiter;
    return undefined;
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
    const [other] = this.#others.isOpen(this.#underWay.other.size) ? this.#waiting.other : [];
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
    let cancel = () => {};
    waiter.count = (ms) => {
      cancel();
      cancel = this.#clock.after(ms, () => waiter.release());
    };
    waiter.count(countedMs[kind]);
    waiter.release = () => {
      waiter.release = () => {};
      cancel();
      this.#underWay[kind].delete(waiter);
      this.#admit();
    };
    if (kind === 'other') this.#others.passed();
    else waiter.makeWay = this.#others.hold();
    if (!this.#isCounting) setImmediate(() => this.#nextTurn());
    this.#isCounting = true;
    waiter.grant();
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
