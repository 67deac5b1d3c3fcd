/**
 * A list reply made of items that are encoded already. V8 starts a full collection for every few MB of buffers that were made: so items
 * live together in large slabs, and a reply is joined in one buffer that is used again and again.
 */
const slabBytes = 1024 * 1024;

/** Keeps small buffers in few large ones. Nothing is freed but whole slabs. */
export class Slabs {
  #slab = Buffer.alloc(0);
  #used = 0;

  keep(bytes: Uint8Array): Uint8Array {
    if (bytes.length > slabBytes / 4) return bytes;
    if (this.#used + bytes.length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const kept = this.#slab.subarray(this.#used, (this.#used += bytes.length));
    kept.set(bytes);
    return kept;
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

  /** With so many bytes more, of a field that no reader knows. */
  padded(bytes: number): EncodedList {
    return new EncodedList([...this.#items, paddingHeader(bytes)], bytes);
  }

  /** As messages of a streaming list: each a list of some of the items. */
  *inChunks(itemsInChunk: number): Generator<EncodedList> {
    for (let first = 0; first < this.#items.length; first += itemsInChunk)
      yield new EncodedList(this.#items.slice(first, first + itemsInChunk));
  }

  /** Good until the next list is joined: grpc-js copies it into its frame at once. */
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
