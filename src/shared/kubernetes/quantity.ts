/**
 * Exact resource quantities (`500m`, `1.5Gi`, `2e3`) as a bigint count of nanos. Grammar, rounding and canonical form equal
 * upstream's (apimachinery pkg/api/resource), so other components read the same values.
 */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** Billionths of a unit. Parsing rounds finer values away from zero, so a non-zero request stays non-zero. */
  readonly nanos: bigint;
  /** The format of the input, which formatting preserves. */
  readonly format: QuantityFormat;
}

/** A parsed quantity, an unparsed one, or undefined for zero. */
export type QuantityLike = Quantity | string | undefined;

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const nanosPerUnit = 1_000_000_000n;
export const zeroQuantity: Quantity = { nanos: 0n, format: 'DecimalSI' };

/** The largest BinarySI quantity: 2^63−1, upstream's cap. */
const maxInt64 = (1n << 63n) - 1n;
/** The largest double that fits an int64: 2^63−1024. */
const maxCount = 2 ** 63 - 1024;
/**
 * Upstream does not bound decimal quantities. Amounts from 10^1000 on count as 10^1000: no host has as much of any resource, and
 * `1e999999999` must not allocate a number of a billion digits.
 */
const maxDigits = 1000;
/** 10^maxDigits units; a unit is 10^9 nanos. */
const maxNanos = 10n ** BigInt(maxDigits + 9);
/** The number of fraction digits that parsing considers. In Ei, the largest unit, digits after the 28th are below one billionth. */
const maxFractionDigits = 100;

const decimalSuffixes: readonly (readonly [suffix: string, exponent: number])[] = [
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Unambiguous: each input matches in at most one way. An ambiguous pattern would need minutes to reject a long input. */
const grammar = /^([+-]?)0*([1-9][0-9]*)?(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;

/** Throws QuantityError with upstream's wording. The cost is linear in the length of the text. */
export function parseQuantity(text: string): Quantity {
  const match = text === '' ? null : grammar.exec(text);
  if (!match) throw new QuantityError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  const [, sign, integerDigits = '', fraction = '', suffix = ''] = match;
  const { base, exponent, format } = parseSuffix(suffix);
  const magnitude = base === 2 ? binaryNanos(integerDigits, fraction, exponent) : decimalNanos(integerDigits, fraction, exponent);
  if (magnitude === 0n) return { nanos: 0n, format };
  const capped = format === 'BinarySI' && magnitude > maxInt64 * nanosPerUnit ? maxInt64 * nanosPerUnit : magnitude;
  // Amounts below one have no binary suffix.
  const shownFormat = format === 'BinarySI' && capped < nanosPerUnit ? 'DecimalSI' : format;
  return { nanos: sign === '-' ? -capped : capped, format: shownFormat };
}

function parseSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = decimalSuffixes.find(([name]) => name === suffix);
  if (decimal) return { base: 10, exponent: decimal[1], format: 'DecimalSI' };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  if (/^[eE][-+]?[0-9]+$/.test(suffix)) return { base: 10, exponent: parseExponent(suffix.slice(1)), format: 'DecimalExponent' };
  throw new QuantityError("unable to parse quantity's suffix");
}

/** Go parses an int64 and truncates it to 32 bits: `1e4294967299` is `1e3`. */
function parseExponent(text: string): number {
  const digits = text.replace(/^[-+]?0*/, '');
  // An int64 has at most 19 digits.
  const parsed = digits.length > 19 ? null : BigInt(digits || '0') * (text.startsWith('-') ? -1n : 1n);
  if (parsed === null || parsed !== BigInt.asIntN(64, parsed)) throw new QuantityError("unable to parse quantity's suffix");
  return Number(BigInt.asIntN(32, parsed));
}

/** Returns digits × 10^exponent in nanos. */
function decimalNanos(integerDigits: string, fraction: string, exponent: number): bigint {
  const digits = `${integerDigits}${fraction}`.replace(/^0+/, '');
  if (digits === '') return 0n;
  const power = exponent - fraction.length + 9;
  if (digits.length + power > maxDigits + 9) return maxNanos;
  if (power >= 0) return BigInt(digits) * 10n ** BigInt(power);
  const keptDigits = Math.max(0, digits.length + power);
  return BigInt(digits.slice(0, keptDigits) || '0') + (isAllZeros(digits.slice(keptDigits)) ? 0n : 1n);
}

/** Returns digits × 2^exponent in nanos, for exponent ≤ 60. */
function binaryNanos(integerDigits: string, fraction: string, exponent: number): bigint {
  // A longer number exceeds the cap.
  if (integerDigits.length > 20) return maxNanos;
  const tail = fraction.slice(maxFractionDigits);
  // The result is rounded up, so the digits cut off matter only when one of them is not zero.
  const shownFraction = `${fraction.slice(0, maxFractionDigits)}${isAllZeros(tail) ? '' : '1'}`;
  return divideUp((BigInt(`0${integerDigits}${shownFraction}`) << BigInt(exponent)) * nanosPerUnit, 10n ** BigInt(shownFraction.length));
}

function isAllZeros(digits: string): boolean {
  return /^0*$/.test(digits);
}

/** Divides two non-negative numbers and rounds up. */
function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

/** Returns null when the text is not a quantity. For values from other components, where one invalid value must not fail the whole. */
export function tryParseQuantity(text: string): Quantity | null {
  try {
    return parseQuantity(text);
  } catch (err) {
    if (err instanceof QuantityError) return null;
    throw err;
  }
}

/** Parses strings and returns quantities unchanged; undefined is zero. Throws QuantityError. */
export function toQuantity(quantity: QuantityLike): Quantity {
  if (quantity === undefined) return zeroQuantity;
  return typeof quantity === 'string' ? parseQuantity(quantity) : quantity;
}

/**
 * Returns whole units (bytes, cores), rounded away from zero. Exact below 2^53. Values beyond an int64 return the largest double
 * that fits.
 */
export function value(quantity: QuantityLike): number {
  return scaled(quantity, nanosPerUnit);
}

/**
 * Returns thousandths (millicores), rounded away from zero. Exact below 2^53. Values beyond an int64 return the largest double
 * that fits.
 */
export function milliValue(quantity: QuantityLike): number {
  return scaled(quantity, nanosPerUnit / 1000n);
}

function scaled(quantity: QuantityLike, unit: bigint): number {
  const { nanos } = toQuantity(quantity);
  const count = Number(nanos < 0n ? -divideUp(-nanos, unit) : divideUp(nanos, unit));
  return Math.max(-maxCount, Math.min(maxCount, count));
}

/** Returns a negative number, zero or a positive number when `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: QuantityLike, b: QuantityLike): number {
  const [left, right] = [toQuantity(a).nanos, toQuantity(b).nanos];
  return left < right ? -1 : Number(left > right);
}

export function isZeroQuantity(quantity: QuantityLike): boolean {
  return toQuantity(quantity).nanos === 0n;
}

/** The result has the format of `a`, or the format of `b` when `a` is zero. */
export function addQuantities(a: QuantityLike, b: QuantityLike): Quantity {
  const [left, right] = [toQuantity(a), toQuantity(b)];
  return { nanos: left.nanos + right.nanos, format: left.nanos === 0n ? right.format : left.format };
}

/** Returns the quantity of a whole number of units. */
export function quantityOf(units: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nanos: BigInt(units) * nanosPerUnit, format };
}

/** Formats the canonical form: no fraction, no lost digit, the greatest possible suffix. `1.5Gi` is `1536Mi`, `0.1` is `100m`. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const magnitude = nanos < 0n ? -nanos : nanos;
  const isWhole = magnitude % nanosPerUnit === 0n;
  // The binary form would round fractions and has no suffix below 1024.
  if (format === 'BinarySI' && isWhole && magnitude >= 1024n * nanosPerUnit) return formatBinary(nanos / nanosPerUnit);
  return formatDecimal(nanos, format === 'DecimalExponent');
}

/** Returns the quantity in canonical form. Throws QuantityError. */
export function canonicalQuantity(text: string): string {
  return formatQuantity(parseQuantity(text));
}

function formatBinary(units: bigint): string {
  let [rest, power] = [units, 0];
  while (power < binarySuffixes.length - 1 && rest % 1024n === 0n) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  // `E` is the greatest suffix. Exponents are unbounded.
  const greatest = asExponent ? Infinity : 18;
  let [rest, exponent] = [nanos, -9];
  while (rest % 1000n === 0n && exponent < greatest) {
    rest /= 1000n;
    exponent += 3;
  }
  if (asExponent) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes.find(([, power]) => power === exponent)?.[0] ?? ''}`;
}
