/**
 * Finds what the runtime listed by the bytes of its ID, in the reply itself: no string is made for what is known already, so a
 * list that brings nothing new costs no object. A hash table over typed arrays that grows as it must. A slot is an item's place
 * in it for as long as the item exists.
 */

/** Longer than any runtime's ID (containerd, CRI-O: 64). What is longer is not taken in. */
export const maxIdBytes = 128;

const none = -1;
const hashedBytes = 16;

export class ItemIndex<T> {
  #capacity = 0;
  #size = 0;
  /** Slots that were ever used end here. */
  #highWater = 0;
  /** Head of the list of free slots, chained by `#next`. */
  #free = none;
  #buckets = new Int32Array(0);
  #next = new Int32Array(0);
  #hashes = new Int32Array(0);
  #idLengths = new Uint8Array(0);
  #ids = Buffer.alloc(0);
  #rawStates = new Int32Array(0);
  #seen = new Float64Array(0);
  readonly #items: (T | undefined)[] = [];

  constructor(capacity = 1024) {
    this.#grow(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of the item with this ID; −1: there is none. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    const hash = hashOf(bytes, start, end);
    for (let slot = this.#buckets[hash & (this.#buckets.length - 1)]!; slot !== none; slot = this.#next[slot]!) {
      if (this.#hashes[slot] === hash && this.#idLengths[slot] === length && this.#hasId(slot, bytes, start, length)) return slot;
    }
    return none;
  }

  /** Undefined: no such item. For the few places that hold an ID as a string. */
  get(id: string): T | undefined {
    const bytes = Buffer.from(id);
    const slot = this.find(bytes, 0, bytes.length);
    return slot === none ? undefined : this.#items[slot];
  }

  /** Takes an item in and answers with its slot. The ID must not be in the index yet, and be 1 to `maxIdBytes` bytes. */
  add(id: string, rawState: number, item: T): number {
    const bytes = Buffer.from(id);
    if (bytes.length === 0 || bytes.length > maxIdBytes) throw new RangeError(`an ID of ${bytes.length} bytes: ${id.slice(0, 40)}`);
    if (this.#size === this.#capacity) this.#grow(this.#capacity * 2);
    let slot = this.#free;
    if (slot === none) {
      slot = this.#highWater;
      this.#highWater += 1;
    } else this.#free = this.#next[slot]!;
    this.#ids.set(bytes, slot * maxIdBytes);
    this.#idLengths[slot] = bytes.length;
    this.#hashes[slot] = hashOf(bytes, 0, bytes.length);
    this.#rawStates[slot] = rawState;
    this.#seen[slot] = 0;
    this.#items[slot] = item;
    this.#link(slot);
    this.#size += 1;
    return slot;
  }

  remove(slot: number): void {
    const bucket = this.#hashes[slot]! & (this.#buckets.length - 1);
    if (this.#buckets[bucket] === slot) this.#buckets[bucket] = this.#next[slot]!;
    else {
      let before = this.#buckets[bucket]!;
      while (this.#next[before] !== slot) before = this.#next[before]!;
      this.#next[before] = this.#next[slot]!;
    }
    this.#items[slot] = undefined;
    this.#idLengths[slot] = 0;
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.#size -= 1;
  }

  item(slot: number): T {
    return this.#items[slot]!;
  }

  /** The state as the runtime last listed it, a number of the protocol. */
  rawState(slot: number): number {
    return this.#rawStates[slot]!;
  }

  setRawState(slot: number, rawState: number): void {
    this.#rawStates[slot] = rawState;
  }

  /** Marks the slot as seen by this relist; numbers only grow, and 0 is none. */
  see(slot: number, relist: number): void {
    this.#seen[slot] = relist;
  }

  /** The next slot in use, at `from` or after it, that this relist has not seen; −1: no more. */
  nextUnseen(from: number, relist: number): number {
    for (let slot = from; slot < this.#highWater; slot += 1) if (this.#idLengths[slot] !== 0 && this.#seen[slot] !== relist) return slot;
    return none;
  }

  /** Adds one to `counts[state]` for each item; a state that `counts` does not reach counts as its last. */
  countRawStates(counts: number[]): void {
    for (let slot = 0; slot < this.#highWater; slot += 1) {
      if (this.#idLengths[slot] === 0) continue;
      const state = this.#rawStates[slot]!;
      counts[state >= 0 && state < counts.length ? state : counts.length - 1]! += 1;
    }
  }

  #hasId(slot: number, bytes: Uint8Array, start: number, length: number): boolean {
    const offset = slot * maxIdBytes;
    for (let i = 0; i < length; i += 1) if (this.#ids[offset + i] !== bytes[start + i]) return false;
    return true;
  }

  #link(slot: number): void {
    const bucket = this.#hashes[slot]! & (this.#buckets.length - 1);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
  }

  #grow(capacity: number): void {
    this.#capacity = capacity;
    const widen = <A extends Int32Array | Float64Array | Uint8Array>(wide: A, old: A): A => {
      wide.set(old);
      return wide;
    };
    this.#next = widen(new Int32Array(capacity), this.#next);
    this.#hashes = widen(new Int32Array(capacity), this.#hashes);
    this.#idLengths = widen(new Uint8Array(capacity), this.#idLengths);
    this.#ids = widen(Buffer.alloc(capacity * maxIdBytes), this.#ids);
    this.#rawStates = widen(new Int32Array(capacity), this.#rawStates);
    this.#seen = widen(new Float64Array(capacity), this.#seen);
    // A power of two, and chains that are short on average.
    this.#buckets = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2))).fill(none);
    // Every slot is in use when the table must grow: none of the chained is a free one.
    for (let slot = 0; slot < this.#highWater; slot += 1) this.#link(slot);
  }
}

/** FNV-1a of the length and the last bytes, to int32. An ID is random, or ends in a number: that part tells them apart. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start);
  for (let i = Math.max(start, end - hashedBytes); i < end; i += 1) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash;
}
