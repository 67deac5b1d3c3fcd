/**
 * Native buckets in shared memory: one writer, readers without locks. A new table is all zeros. A reader gets nothing while the writer rewrites the table. The
 * reader's caller finds every other half-written state: there the buckets do not add up to the histogram's number of values.
 */
import { bucketKey, coarsestSchema, finestSchema, maxNativeBuckets, widerKey } from './bucket-key.ts';
import { NativeBuckets } from './native-buckets.ts';

const headBytes = 8;
const keysBytes = maxNativeBuckets * Int32Array.BYTES_PER_ELEMENT;
export const nativeTableBytes = headBytes + keysBytes + (1 + maxNativeBuckets) * Float64Array.BYTES_PER_ELEMENT;

/** Indices in the head: how often the width was doubled, and the number of buckets. */
const [widenedCell, sizeCell] = [0, 1];
/** The value of `sizeCell` while the table is rewritten. It stays when the thread dies meanwhile; the table is then never used again. */
const rewriting = -1;

export class NativeTable {
  readonly #head: Int32Array;
  readonly #keys: Int32Array;
  /** The zero bucket, then one count for each key. */
  readonly #counts: Float64Array;

  /** @param offset a multiple of 8 */
  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#head = new Int32Array(buffer, offset, 2);
    this.#keys = new Int32Array(buffer, offset + headBytes, maxNativeBuckets);
    this.#counts = new Float64Array(buffer, offset + headBytes + keysBytes, 1 + maxNativeBuckets);
  }

  observe(value: number): void {
    const size = Atomics.load(this.#head, sizeCell);
    if (size === rewriting || Number.isNaN(value)) return;
    const key = bucketKey(value, this.#schema());
    if (key === null) {
      this.#counts[0]! += 1;
      return;
    }
    for (let i = 0; i < size; i += 1) {
      if (this.#keys[i] !== key) continue;
      this.#counts[i + 1]! += 1;
      return;
    }
    if (size < maxNativeBuckets) {
      this.#keys[size] = key;
      this.#counts[size + 1] = 1;
      Atomics.store(this.#head, sizeCell, size + 1);
      return;
    }
    if (!this.#widen()) return;
    this.observe(value);
  }

  /** Undefined while the table is rewritten. */
  read(): NativeBuckets | undefined {
    const size = Atomics.load(this.#head, sizeCell);
    const schema = this.#schema();
    if (size === rewriting) return undefined;
    const counts = Array.from({ length: size }, (_, i) => [this.#keys[i]!, this.#counts[i + 1]!] as const);
    const buckets = NativeBuckets.of(schema, this.#counts[0]!, counts);
    return Atomics.load(this.#head, sizeCell) >= size && this.#schema() === schema ? buckets : undefined;
  }

  #schema(): number {
    return finestSchema - Atomics.load(this.#head, widenedCell);
  }

  /** Doubles the width of all buckets. Returns false at the coarsest resolution: the value is then in no bucket, and readers see that the total is wrong. */
  #widen(): boolean {
    if (this.#schema() <= coarsestSchema) return false;
    const merged = new Map<number, number>();
    this.#keys.forEach((key, i) => merged.set(widerKey(key), (merged.get(widerKey(key)) ?? 0) + this.#counts[i + 1]!));
    Atomics.store(this.#head, sizeCell, rewriting);
    let size = 0;
    for (const [key, count] of merged) {
      this.#keys[size] = key;
      this.#counts[size + 1] = count;
      size += 1;
    }
    Atomics.add(this.#head, widenedCell, 1);
    Atomics.store(this.#head, sizeCell, size);
    return true;
  }
}
