/**
 * The exponential buckets of native histograms. A schema of n has 2^n buckets for each power of two; bucket i ends at 2^(i / 2^n), inclusive. Pure.
 * Upstream: histogram.go of client_golang v1.24; the options are those of component-base/metrics/internal/nativehistograms.go.
 */

/** The schema for a growth factor of at most 1.1: each bucket is 2^(1/8) = 1.09 times as wide as the one before. */
export const finestSchema = 3;
export const coarsestSchema = -4;
export const maxNativeBuckets = 160;
/** Values this near to 0, 2^-128, are in the zero bucket. */
export const zeroThreshold = 2 ** -128;

/** Lower bounds of the buckets between 1/2 and 1 for the finest schema: 2^(i/8 − 1). */
const fractions = [
  0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048, 0.7071067811865475, 0.7711054127039704, 0.8408964152537144,
  0.9170040432046711,
] as const;

/** A double, and its bits as two 32-bit words. `high` is the index of the word with the sign, the 11 bits of the exponent, and 20 bits of the fraction. */
const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const high = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/**
 * Returns the key of a value's bucket: its index times two, plus one for negative values. Null: the zero bucket. NaN has no bucket.
 * @param value not NaN
 */
export function bucketKey(value: number, schema: number): number | null {
  if (Math.abs(value) <= zeroThreshold) return null;
  const isInfinite = !Number.isFinite(value);
  const index = bucketIndex(isInfinite ? Number.MAX_VALUE : Math.abs(value), schema) + (isInfinite ? 1 : 0);
  return 2 * index + (value < 0 ? 1 : 0);
}

/** Returns the key of the bucket that contains this one in the next coarser schema, whose buckets are twice as wide. */
export function widerKey(key: number): number {
  const index = key >> 1;
  return 2 * Math.ceil(index / 2) + (key & 1);
}

/**
 * Returns the index of a positive number's bucket. Splits the number like Go's Frexp: a fraction from 1/2 to below 1, times 2^exponent. The exponent of a double
 * has a bias of 1023 and belongs to a fraction from 1 to below 2, hence 1022.
 */
function bucketIndex(magnitude: number, schema: number): number {
  double[0] = magnitude;
  const exponent = ((words[high]! >>> 20) & 0x7ff) - 1022;
  words[high] = (words[high]! & 0x800f_ffff) | (1022 << 20);
  const fraction = double[0];
  if (schema > 0) {
    const step = 1 << (finestSchema - schema);
    let position = 0;
    while (position * step < fractions.length && fractions[position * step]! < fraction) position += 1;
    return position + (exponent - 1) * (fractions.length / step);
  }
  // The smallest power of two at or above the number. A bucket of these schemas has 2^-schema powers of two.
  const last = fraction === 0.5 ? exponent - 1 : exponent;
  return (last + (1 << -schema) - 1) >> -schema;
}
