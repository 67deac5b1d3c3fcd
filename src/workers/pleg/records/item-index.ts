/**
 * Finds an item by the bytes of its ID in the reply. Known items need no string, so a list without changes allocates nothing. A growing
 * hash table over typed arrays. The slot of an item stays the same until its removal.
 */

/** Exceeds the IDs of all runtimes (containerd, CRI-O: 64). Longer IDs are rejected. */
export const maxIdBytes = 128;

const noSlot = -1;
/** How many of an ID's last bytes are hashed. */
const hashedBytes = 16;

export class ItemIndex<T> {
  #capacity = 0;
  #size = 0;
  /** All slots that were ever used are below this number. */
  #highWater = 0;
  /** The first free slot. `#next` links the others. */
  #free = noSlot;
  /** The first slot of each bucket's chain of slots. */
  #buckets = new Int32Array(0);
  /** Indexed by slot, as the arrays below: the next slot of the bucket's chain, or the next free slot. */
  #next = new Int32Array(0);
  #hashes = new Int32Array(0);
  /** 0: the slot is free. */
  #idLengths = new Uint8Array(0);
  /** `maxIdBytes` per slot. */
  #ids = Buffer.alloc(0);
  #rawStates = new Int32Array(0);
  /** The number of the last relist that contained the item. */
  #seen = new Float64Array(0);
  readonly #items: (T | undefined)[] = [];

  constructor(capacity = 1024) {
    this.#grow(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** Returns the slot of the item with this ID, or −1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    const hash = hashOf(bytes, start, end);
    for (let slot = this.#buckets[hash & (this.#buckets.length - 1)]!; slot !== noSlot; slot = this.#next[slot]!) {
      if (this.#hashes[slot] === hash && this.#idLengths[slot] === length && this.#hasId(slot, bytes, start, length)) return slot;
    }
    return noSlot;
  }

  /** For callers with an ID as a string. */
  get(id: string): T | undefined {
    const bytes = Buffer.from(id);
    const slot = this.find(bytes, 0, bytes.length);
    return slot === noSlot ? undefined : this.#items[slot];
  }

  /** Adds an item and returns its slot. The ID must be new and have 1 to `maxIdBytes` bytes. */
  add(id: string, rawState: number, item: T): number {
    const bytes = Buffer.from(id);
    if (bytes.length === 0 || bytes.length > maxIdBytes) throw new RangeError(`an ID of ${bytes.length} bytes: ${id.slice(0, 40)}`);
    if (this.#size === this.#capacity) this.#grow(this.#capacity * 2);
    let slot = this.#free;
    if (slot === noSlot) {
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
      let previousSlot = this.#buckets[bucket]!;
      while (this.#next[previousSlot] !== slot) previousSlot = this.#next[previousSlot]!;
      this.#next[previousSlot] = this.#next[slot]!;
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

  /** The state in the latest list, as the CRI's number. */
  rawState(slot: number): number {
    return this.#rawStates[slot]!;
  }

  setRawState(slot: number, rawState: number): void {
    this.#rawStates[slot] = rawState;
  }

  /** Marks the slot as seen by this relist. Relist numbers increase from 1. */
  markSeen(slot: number, relist: number): void {
    this.#seen[slot] = relist;
  }

  /** Returns the next used slot from `from` on that this relist has not seen, or −1. */
  nextUnseen(from: number, relist: number): number {
    for (let slot = from; slot < this.#highWater; slot += 1) if (this.#idLengths[slot] !== 0 && this.#seen[slot] !== relist) return slot;
    return noSlot;
  }

  /** Increments `counts[state]` for each item. States outside of `counts` count as its last. */
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
    const enlarge = <A extends Int32Array | Float64Array | Uint8Array>(larger: A, old: A): A => {
      larger.set(old);
      return larger;
    };
    this.#next = enlarge(new Int32Array(capacity), this.#next);
    this.#hashes = enlarge(new Int32Array(capacity), this.#hashes);
    this.#idLengths = enlarge(new Uint8Array(capacity), this.#idLengths);
    this.#ids = enlarge(Buffer.alloc(capacity * maxIdBytes), this.#ids);
    this.#rawStates = enlarge(new Int32Array(capacity), this.#rawStates);
    this.#seen = enlarge(new Float64Array(capacity), this.#seen);
    // A power of two that keeps chains short on average.
    this.#buckets = new Int32Array(2 ** Math.ceil(Math.log2(capacity * 2))).fill(noSlot);
    // The table grows only when it has no free slots, so all slots are in use.
    for (let slot = 0; slot < this.#highWater; slot += 1) this.#link(slot);
  }
}

/** FNV-1a of the length and the last bytes, as an int32. The end distinguishes IDs, because they are random or end in a number. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 ^ (end - start);
  for (let i = Math.max(start, end - hashedBytes); i < end; i += 1) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash;
}
