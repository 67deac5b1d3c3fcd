/**
 * Lets few syncs go on in each turn of the event loop, those with something to do first. A kubelet that starts beside a hundred running pods
 * has a hundred syncs to send away: each costs a millisecond or three, and all in one turn would hold up the node's lease, the API server's
 * answers and the one pod that is new for a second. Nor do the pool's threads get all of them at once: what they only find to be as it should
 * be comes in the way of the pod that is to start.
 */
import type { Clock } from '../../shared/time/clock.ts';

/** So many, and the loop comes round within some ten milliseconds. */
const perTurn = 4;
/** Syncs that will find nothing to do, at a time: they wait for next to nothing, so that more of them are not done sooner. */
const others = { limit: 4, besideUrgent: 1 };
/** One that takes longer waits for something else than a core (a volume, an image, the runtime): it does not count any more. */
const countedMs = { urgent: 2000, other: 100 };

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
  kind: keyof typeof countedMs;
  readonly grant: () => void;
  /** It does not count any more. */
  release: () => void;
}

export class TurnPace {
  readonly #clock: Clock;
  #granted = 0;
  #isCounting = false;
  readonly #waiting = { urgent: new Set<Waiter>(), other: new Set<Waiter>() };
  readonly #underWay = { urgent: 0, other: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Granted at once for the first few of a turn, for all others later. `isUrgent`: something is to be done for the pod. */
  turn(isUrgent: boolean): Turn {
    const { promise: granted, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { kind: isUrgent ? 'urgent' : 'other', grant: resolve, release: () => {} };
    this.#waiting[waiter.kind].add(waiter);
    this.#admit();
    return {
      granted,
      hurry: () => {
        if (!this.#waiting.other.delete(waiter)) return;
        waiter.kind = 'urgent';
        this.#waiting.urgent.add(waiter);
        this.#admit();
      },
      over: () => {
        this.#waiting[waiter.kind].delete(waiter);
        waiter.release();
      },
    };
  }

  #admit(): void {
    while (this.#granted < perTurn) {
      const mayOther = this.#underWay.other < (this.#underWay.urgent > 0 ? others.besideUrgent : others.limit);
      const [next] = this.#waiting.urgent.size > 0 ? this.#waiting.urgent : mayOther ? this.#waiting.other : [];
      if (!next) return;
      this.#grant(next);
    }
  }

  #grant(waiter: Waiter): void {
    const { kind } = waiter;
    this.#waiting[kind].delete(waiter);
    this.#granted += 1;
    this.#underWay[kind] += 1;
    const cancel = this.#clock.after(countedMs[kind], () => waiter.release());
    waiter.release = () => {
      waiter.release = () => {};
      cancel();
      this.#underWay[kind] -= 1;
      this.#admit();
    };
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
