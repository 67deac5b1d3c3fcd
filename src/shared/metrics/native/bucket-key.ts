/**
 * The exponential buckets of native histograms. A schema of n has 2^n buckets for each power of two; bucket i ends at 2^(i / 2^n), inclusive. Pure.
 * Upstream: histogram.go of client_golang v1.24; the options are those of component-base/metrics/internal/nativehistograms.go.
 */

/** Each bucket is at most 10 % wider than the one before: the schema for a growth factor of 1.1. */
export const finestSchema = 3;
export const coarsestSchema = -4;
export const maxNativeBuckets = 160;
/** Values this near to 0, 2^-128, are in the zero bucket. */
export const zeroThreshold = 2 ** -128;

/** Lower bounds of the buckets between 1/2 and 1 for the finest schema. */
const fractions = [
  0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048, 0.7071067811865475, 0.7711054127039704, 0.8408964152537144,
  0.9170040432046711,
] as const;

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const high = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/**
 * A bucket's index times two, plus one for negative values. Null: the zero bucket. NaN has no bucket.
 * @param value not NaN
 */
export function bucketKey(value: number, schema: number): number | null {
  if (Math.abs(value) <= zeroThreshold) return null;
  const isInfinite = !Number.isFinite(value);
  const index = bucketIndex(isInfinite ? Number.MAX_VALUE : Math.abs(value), schema) + (isInfinite ? 1 : 0);
  return 2 * index + (value < 0 ? 1 : 0);
}

/** The key of the bucket of twice the width that contains this one. */
export function widerKey(key: number): number {
  const index = key >> 1;
  return 2 * Math.ceil(index / 2) + (key & 1);
}

/** Go's Frexp: `magnitude` is a fraction from 1/2 to below 1, times a power of two. */
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
  const last = fraction === 0.5 ? exponent - 1 : exponent;
  return (last + (1 << -schema) - 1) >> -schema;
}
