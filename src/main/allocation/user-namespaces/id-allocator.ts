/**
 * Allocates ranges of IDs to pods. No ID is ever part of two ranges. Pure, apart from the random number. Upstream: UsernsManager in
 * pkg/kubelet/userns, whose bitmap also begins its search at a random place: the IDs of a removed pod are not reused at once.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { idCount, idsUnit, rangeCount, type IDRange } from './id-range.ts';

export interface IDAllocatorOptions {
  /** Checked by `checkIDRange`. */
  readonly range: IDRange;
  readonly idsPerPod: number;
  /** 0 to 1. */
  readonly random: () => number;
}

export class IDAllocator {
  readonly #idsPerPod: number;
  readonly #firstID: number;
  readonly #rangeCount: number;
  readonly #random: () => number;
  /** The index of each pod's range. */
  readonly #indexes = new Map<PodUID, number>();
  /** The values of `#indexes`. */
  readonly #taken = new Set<number>();
  /** The IDs in a pod's file that could not be recorded; see `block`. */
  readonly #blocked = new Map<PodUID, IDRange>();
  /** Ranges of running sandboxes that this allocator would not make, for example with another length; see `adopt`. */
  readonly #adopted = new Map<PodUID, IDRange>();

  constructor({ range, idsPerPod, random }: IDAllocatorOptions) {
    this.#idsPerPod = idsPerPod;
    this.#firstID = range.firstID;
    this.#rangeCount = rangeCount(range, idsPerPod);
    this.#random = random;
  }

  /** The pods with a range or with blocked IDs. */
  uids(): PodUID[] {
    return [...new Set([...this.#indexes.keys(), ...this.#blocked.keys(), ...this.#adopted.keys()])];
  }

  get(uid: PodUID): IDRange | undefined {
    const index = this.#indexes.get(uid);
    return index === undefined ? this.#adopted.get(uid) : this.#rangeOf(index);
  }

  /** Returns the pod's range, which is a new one if it has none. Throws an Error when no range is free. */
  allocate(uid: PodUID): IDRange {
    const present = this.get(uid);
    if (present) return present;
    const start = Math.floor(this.#random() * this.#rangeCount) % this.#rangeCount;
    for (let i = 0; i < this.#rangeCount; i += 1) {
      const index = (start + i) % this.#rangeCount;
      if (!this.#isFree(index, uid)) continue;
      this.#take(uid, index);
      return this.#rangeOf(index);
    }
    throw new Error('could not find an empty slot to allocate a user namespace');
  }

  /** Gives the pod the range that its file has. Throws an Error when the range is invalid or not free. Idempotent. */
  record(uid: PodUID, { firstID, length }: IDRange): void {
    if (length !== this.#idsPerPod) throw new Error(`wrong user namespace length ${length}`);
    if (firstID % length !== 0) throw new Error(`wrong user namespace offset specified ${firstID}`);
    const present = this.get(uid);
    if (present?.firstID === firstID) return;
    if (present) throw new Error(`different user namespace range already used by pod ${goQuote(uid)}`);
    const index = (firstID - this.#firstID) / length;
    if (index < 0 || index >= this.#rangeCount) throw new Error(`id ${firstID} is out of range`);
    if (!this.#isFree(index, uid)) throw new Error(`range picked for pod ${goQuote(uid)} already taken`);
    this.#take(uid, index);
  }

  /**
   * Gives the pod the range that its sandbox already runs with, in place of any other, even if it does not fit idsPerPod. Throws an Error when
   * another pod has some of these IDs, or when no kubelet can have made the range.
   */
  adopt(uid: PodUID, range: IDRange): void {
    if (!isPlausible(range)) throw new Error(`the IDs of its sandbox are invalid: ${range.length} from ${range.firstID} on`);
    const others = this.uids().filter((one) => one !== uid);
    if (others.some((one) => [this.get(one), this.#blocked.get(one)].some((other) => other && overlaps(other, range))))
      throw new Error(`another pod has some of the IDs of its sandbox: ${range.length} from ${range.firstID} on`);
    this.release(uid);
    try {
      this.record(uid, range);
    } catch {
      this.#adopted.set(uid, range);
    }
  }

  /**
   * Gives these IDs to no other pod as long as this pod exists. The pod's file has the IDs and its processes may run with them, although the range can't
   * be recorded, for example because idsPerPod was changed. Ignores a range that no kubelet can have written.
   */
  block(uid: PodUID, range: IDRange): void {
    if (isPlausible(range)) this.#blocked.set(uid, range);
  }

  release(uid: PodUID): void {
    const index = this.#indexes.get(uid);
    if (index !== undefined) this.#taken.delete(index);
    this.#indexes.delete(uid);
    this.#blocked.delete(uid);
    this.#adopted.delete(uid);
  }

  #take(uid: PodUID, index: number): void {
    this.#taken.add(index);
    this.#indexes.set(uid, index);
    this.#blocked.delete(uid);
  }

  #isFree(index: number, uid: PodUID): boolean {
    if (this.#taken.has(index)) return false;
    const range = this.#rangeOf(index);
    const isOthers = ([owner, reserved]: [PodUID, IDRange]) => owner !== uid && overlaps(range, reserved);
    return ![...this.#blocked].some(isOthers) && ![...this.#adopted].some(isOthers);
  }

  #rangeOf(index: number): IDRange {
    return { firstID: this.#firstID + index * this.#idsPerPod, length: this.#idsPerPod };
  }
}

function overlaps(a: IDRange, b: IDRange): boolean {
  return a.firstID < b.firstID + b.length && b.firstID < a.firstID + a.length;
}

/** Whether a kubelet can have made the range, with any idsPerPod. */
function isPlausible({ firstID, length }: IDRange): boolean {
  return length > 0 && length % idsUnit === 0 && firstID >= idsUnit && firstID % length === 0 && firstID + length <= idCount;
}
