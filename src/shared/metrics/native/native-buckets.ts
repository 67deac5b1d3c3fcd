/**
 * The non-empty buckets of a native histogram, at most 160. A value that needs one more doubles the width of all buckets. Pure.
 * Upstream: limitBuckets and doubleBucketWidth of histogram.go, client_golang v1.24.
 */
import { bucketKey, coarsestSchema, finestSchema, maxNativeBuckets, widerKey } from './bucket-key.ts';

export class NativeBuckets {
  #schema = finestSchema;
  #counts = new Map<number, number>();
  zeroCount = 0;

  get schema(): number {
    return this.#schema;
  }

  /** By key: see bucketKey. */
  get counts(): ReadonlyMap<number, number> {
    return this.#counts;
  }

  static of(schema: number, zeroCount: number, counts: Iterable<readonly [number, number]>): NativeBuckets {
    const buckets = new NativeBuckets();
    buckets.#schema = schema;
    buckets.zeroCount = zeroCount;
    buckets.#counts = new Map(counts);
    return buckets;
  }

  /** NaN is in no bucket. */
  observe(value: number): void {
    if (Number.isNaN(value)) return;
    const key = bucketKey(value, this.#schema);
    if (key === null) this.zeroCount += 1;
    else this.#add(key, 1);
    this.#limit();
  }

  /** Adds the values of another histogram, at the coarser of the two resolutions. */
  add(other: NativeBuckets): void {
    while (this.#schema > other.#schema) this.#widen();
    const widenings = other.#schema - this.#schema;
    this.zeroCount += other.zeroCount;
    for (const [key, count] of other.#counts) {
      let wider = key;
      for (let i = 0; i < widenings; i += 1) wider = widerKey(wider);
      this.#add(wider, count);
    }
    this.#limit();
  }

  total(): number {
    let total = this.zeroCount;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  #limit(): void {
    while (this.#counts.size > maxNativeBuckets && this.#schema > coarsestSchema) this.#widen();
  }

  #widen(): void {
    this.#schema -= 1;
    const narrow = this.#counts;
    this.#counts = new Map();
    for (const [key, count] of narrow) this.#add(widerKey(key), count);
  }

  #add(key: number, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }
}
