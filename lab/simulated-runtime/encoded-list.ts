/**
 * A list reply of already encoded items. V8 starts a full garbage collection for every few MB of new buffers, so items are stored in large
 * slabs, and replies are joined in one reused buffer.
 */
const slabBytes = 1024 * 1024;

/** Stores small buffers in a few large ones. Only whole slabs are freed. */
export class Slabs {
  #slab = Buffer.alloc(0);
  #used = 0;

  store(bytes: Uint8Array): Uint8Array {
    if (bytes.length > slabBytes / 4) return bytes;
    if (this.#used + bytes.length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const stored = this.#slab.subarray(this.#used, (this.#used += bytes.length));
    stored.set(bytes);
    return stored;
  }
}

let joined = Buffer.alloc(0);

export class EncodedList {
  readonly #items: readonly Uint8Array[];
  readonly #padding: number;

  constructor(items: readonly Uint8Array[], padding = 0) {
    this.#items = items;
    this.#padding = padding;
  }

  /** Returns the list with additional bytes of an unknown field. */
  withPadding(bytes: number): EncodedList {
    return new EncodedList([...this.#items, paddingHeader(bytes)], bytes);
  }

  /** Splits the list into the messages of a streaming list. */
  *inChunks(itemsInChunk: number): Generator<EncodedList> {
    for (let first = 0; first < this.#items.length; first += itemsInChunk)
      yield new EncodedList(this.#items.slice(first, first + itemsInChunk));
  }

  /** The result is valid until the next call; grpc-js copies it into its frame immediately. */
  join(): Buffer {
    const length = this.#items.reduce((sum, item) => sum + item.length, this.#padding);
    if (joined.length < length) joined = Buffer.alloc(Math.ceil(length / slabBytes) * slabBytes);
    let at = 0;
    for (const item of this.#items) {
      joined.set(item, at);
      at += item.length;
    }
    return joined.subarray(0, length);
  }
}

/** Tag of field 15, length-delimited, and the length as a varint. */
function paddingHeader(bytes: number): Uint8Array {
  const header = [(15 << 3) | 2];
  for (let rest = bytes; ; rest >>>= 7) {
    if (rest < 128) return Uint8Array.from([...header, rest]);
    header.push((rest & 127) | 128);
  }
}
