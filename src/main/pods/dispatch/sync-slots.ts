/**
 * Grants sync slots: a few per iteration of main's event loop, syncs with something to do first, and few new pods at a time. A kubelet that
 * starts on a node with a hundred running pods has a hundred syncs to dispatch. Each costs main 1 to 3 ms; all in one iteration would delay the
 * node's lease, the API server's answers and the start of a new pod by a second. The pool also gets few syncs at a time, because resyncs would
 * slow down the start of a new pod. With slots for a hundred new pods at once, the first pod would wait for the folders, cgroups and tokens of all,
 * although the runtime starts only a few at a time. So each new pod gets its slot shortly before its start permit.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { ResyncThrottle } from './resync-throttle.ts';
import { ranksBefore, type StartRank } from './start-request.ts';
import type { SyncKind } from './sync-kind.ts';

/** With this many slots an iteration of the event loop takes some ten milliseconds. */
const slotsPerIteration = 4;
/** At least this many new pods have a slot that counts: they are on their way to their sandboxes. */
const minNewPods = 2;
/**
 * After this time a slot stops counting, so that another sync may begin: a sync that lasts longer waits for something other than a core (an object,
 * a volume, an image, the runtime).
 */
const countedMs: Readonly<Record<SyncKind, number>> = { urgent: 2000, new: 1000, resync: 100 };
/**
 * The slot of a new pod that waits only for its start permit counts for this long: the pods behind it would only wait for permits too. The time is
 * limited, so that every pod gets a slot and a status.
 */
const countedInStartQueueMs = 10_000;

/** New pods get their slots by rank. They never wait for less important pods, and small pods never wait for large pods of the same importance. */
export interface SyncSlotRequest extends StartRank {
  readonly uid: PodUID;
  readonly kind: SyncKind;
  /** The pod is so large that its start takes the runtime long. */
  readonly large: boolean;
}

export interface SyncSlot {
  /** Resolves when the sync may begin. */
  readonly granted: Promise<void>;
  /** Makes a request that still waits urgent. */
  prioritize(): void;
  /** Ends the slot, or the wait for it. Idempotent. */
  release(): void;
}

interface Slot {
  kind: SyncKind;
  readonly request: SyncSlotRequest;
  readonly grant: () => void;
  /** Lets the slot count for at most this long from now. */
  countFor: (ms: number) => void;
  stopCounting: () => void;
  /** The sync slows down resyncs no longer (ResyncThrottle). */
  endBusy: () => void;
}

export class SyncSlots {
  readonly #clock: Clock;
  readonly #startLimit: () => number;
  readonly #throttle: ResyncThrottle;
  /** Slots granted in this iteration of the event loop. */
  #granted = 0;
  #isResetScheduled = false;
  readonly #waiting: Readonly<Record<SyncKind, Set<Slot>>> = { urgent: new Set(), new: new Set(), resync: new Set() };
  /** Granted slots that still count. */
  readonly #counted: Readonly<Record<SyncKind, Set<Slot>>> = { urgent: new Set(), new: new Set(), resync: new Set() };

  /** `startLimit` returns how many starts the runtime is given at a time: as many new pods get a slot, so that the runtime never waits for a pod. */
  constructor(clock: Clock, startLimit: () => number) {
    this.#clock = clock;
    this.#startLimit = startLimit;
    this.#throttle = new ResyncThrottle(clock, () => this.#grantSlots());
  }

  request(request: SyncSlotRequest): SyncSlot {
    const { promise: granted, resolve } = Promise.withResolvers<void>();
    const slot: Slot = { kind: request.kind, request, grant: resolve, countFor: () => {}, stopCounting: () => {}, endBusy: () => {} };
    this.#waiting[slot.kind].add(slot);
    this.#throttle.onRequest();
    this.#grantSlots();
    return {
      granted,
      prioritize: () => {
        if (slot.kind === 'urgent' || !this.#waiting[slot.kind].delete(slot)) return;
        slot.kind = 'urgent';
        this.#waiting.urgent.add(slot);
        this.#grantSlots();
      },
      release: () => {
        this.#waiting[slot.kind].delete(slot);
        slot.stopCounting();
        slot.endBusy();
      },
    };
  }

  /** The new pod waits only for its start permit. */
  extend(uid: PodUID): void {
    this.#newPod(uid)?.countFor(countedInStartQueueMs);
  }

  /** The new pod has its start permit: another new pod may get a slot. */
  stopCounting(uid: PodUID): void {
    this.#newPod(uid)?.stopCounting();
  }

  #newPod(uid: PodUID): Slot | undefined {
    for (const slot of this.#counted.new) if (slot.request.uid === uid) return slot;
    return undefined;
  }

  #grantSlots(): void {
    while (this.#granted < slotsPerIteration) {
      const next = this.#next();
      if (!next) return;
      this.#grant(next);
    }
  }

  #next(): Slot | undefined {
    const [urgent] = this.#waiting.urgent;
    if (urgent) return urgent;
    const newPod = this.#nextNewPod();
    if (newPod) return newPod;
    const [resync] = this.#throttle.isOpen(this.#counted.resync.size) ? this.#waiting.resync : [];
    return resync;
  }

  #nextNewPod(): Slot | undefined {
    let first: Slot | undefined;
    for (const slot of this.#waiting.new) if (!first || slotBefore(slot.request, first.request)) first = slot;
    if (!first) return undefined;
    const { priority, large } = first.request;
    const slotsAhead = [...this.#counted.new].filter(
      ({ request }) => request.priority > priority || (request.priority === priority && (large || !request.large)),
    );
    return slotsAhead.length < Math.max(minNewPods, this.#startLimit()) ? first : undefined;
  }

  #grant(slot: Slot): void {
    const { kind } = slot;
    this.#waiting[kind].delete(slot);
    this.#granted += 1;
    this.#counted[kind].add(slot);
    let cancel = () => {};
    slot.countFor = (ms) => {
      cancel();
      cancel = this.#clock.after(ms, () => slot.stopCounting());
    };
    slot.countFor(countedMs[kind]);
    slot.stopCounting = () => {
      slot.stopCounting = () => {};
      cancel();
      this.#counted[kind].delete(slot);
      this.#grantSlots();
    };
    if (kind === 'resync') this.#throttle.onResync();
    else slot.endBusy = this.#throttle.beginBusy();
    if (!this.#isResetScheduled) setImmediate(() => this.#onNextIteration());
    this.#isResetScheduled = true;
    slot.grant();
  }

  #onNextIteration(): void {
    this.#granted = 0;
    this.#isResetScheduled = false;
    this.#grantSlots();
  }
}

/** Whether `a` gets its slot before `b`: by priority, size, then age. */
function slotBefore(a: SyncSlotRequest, b: SyncSlotRequest): boolean {
  return a.priority === b.priority && a.large !== b.large ? b.large : ranksBefore(a, b);
}
