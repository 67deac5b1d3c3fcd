/**
 * Resource quantities (`500m`, `1.5Gi`, `2e3`), exact: a count of nanos as a bigint, never a float. The grammar, the rounding
 * and the canonical form are upstream's (apimachinery pkg/api/resource), so that what this kubelet writes reads the same.
 */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** Billionths. What is finer was rounded away from zero: who asks for something gets something. */
  readonly nanos: bigint;
  /** How it was written, and will be again. */
  readonly format: QuantityFormat;
}

/** A quantity as the API has it, parsed, or left out (which is zero). */
export type QuantityLike = Quantity | string | undefined;

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const nanosPerUnit = 1_000_000_000n;
export const zeroQuantity: Quantity = { nanos: 0n, format: 'DecimalSI' };

/** Largest BinarySI quantity: 2^63−1, where upstream caps. */
const maxInt64 = (1n << 63n) - 1n;
/**
 * A hostile `1e999999999` must not make a number of a billion digits. Upstream has no such bound for decimal forms; nothing that a
 * node has comes near 10^36.
 */
const maxDigits = 36;

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

const grammar = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;

/** Parses a quantity. Throws QuantityError with upstream's wording. */
export function parseQuantity(text: string): Quantity {
  const match = text === '' || text.length > 256 ? null : grammar.exec(text);
  if (!match) throw new QuantityError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  const { base, exponent, format } = parseSuffix(suffix);
  const digits = BigInt(`0${whole}${fraction}`);
  if (digits === 0n) return { nanos: 0n, format };
  const magnitude =
    base === 2
      ? divideUp((digits << BigInt(exponent)) * nanosPerUnit, 10n ** BigInt(fraction.length))
      : scaleToNanos(digits, exponent - fraction.length + 9);
  const capped = format === 'BinarySI' && magnitude > maxInt64 * nanosPerUnit ? maxInt64 * nanosPerUnit : magnitude;
  // Below one, a binary form has no meaning left.
  const shown = format === 'BinarySI' && capped < nanosPerUnit ? 'DecimalSI' : format;
  return { nanos: sign === '-' ? -capped : capped, format: shown };
}

function parseSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = decimalSuffixes.find(([name]) => name === suffix);
  if (decimal) return { base: 10, exponent: decimal[1], format: 'DecimalSI' };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  if (/^[eE][-+]?[0-9]+$/.test(suffix)) return { base: 10, exponent: Number(suffix.slice(1)), format: 'DecimalExponent' };
  throw new QuantityError("unable to parse quantity's suffix");
}

/** digits × 10^power, rounded up to a whole number. */
function scaleToNanos(digits: bigint, power: number): bigint {
  const length = digits.toString().length;
  if (length + power - 9 > maxDigits) throw new QuantityError('unable to parse numeric part of quantity');
  if (power >= 0) return digits * 10n ** BigInt(power);
  if (-power > length) return 1n;
  return divideUp(digits, 10n ** BigInt(-power));
}

/** Quotient of two numbers that are not negative, rounded up. */
function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

/** Parsed, or as it is; undefined is zero. Throws QuantityError. */
export function toQuantity(quantity: QuantityLike): Quantity {
  if (quantity === undefined) return zeroQuantity;
  return typeof quantity === 'string' ? parseQuantity(quantity) : quantity;
}

/** The whole units (bytes, cores), rounded away from zero. Exact below 2^53. */
export function value(quantity: QuantityLike): number {
  return scaled(quantity, nanosPerUnit);
}

/** The thousandths (millicores), rounded away from zero. Exact below 2^53. */
export function milliValue(quantity: QuantityLike): number {
  return scaled(quantity, nanosPerUnit / 1000n);
}

function scaled(quantity: QuantityLike, unit: bigint): number {
  const { nanos } = toQuantity(quantity);
  return Number(nanos < 0n ? -divideUp(-nanos, unit) : divideUp(nanos, unit));
}

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: QuantityLike, b: QuantityLike): number {
  const [left, right] = [toQuantity(a).nanos, toQuantity(b).nanos];
  return left < right ? -1 : Number(left > right);
}

export function isZeroQuantity(quantity: QuantityLike): boolean {
  return toQuantity(quantity).nanos === 0n;
}

/** The sum, written as `a` is, or as `b` when `a` is zero. */
export function addQuantities(a: QuantityLike, b: QuantityLike): Quantity {
  const [left, right] = [toQuantity(a), toQuantity(b)];
  return { nanos: left.nanos + right.nanos, format: left.nanos === 0n ? right.format : left.format };
}

/** A whole number of units. */
export function quantityOf(units: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nanos: BigInt(units) * nanosPerUnit, format };
}

/** The canonical form: no fraction, no digit lost, the greatest suffix. `1.5Gi` is `1536Mi`, `0.1` is `100m`. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const magnitude = nanos < 0n ? -nanos : nanos;
  const isWhole = magnitude % nanosPerUnit === 0n;
  // Below 1024 and for fractions a binary form would round.
  if (format === 'BinarySI' && isWhole && magnitude >= 1024n * nanosPerUnit) return formatBinary(nanos / nanosPerUnit);
  return formatDecimal(nanos, format === 'DecimalExponent');
}

/** The same quantity in canonical form. Throws QuantityError. */
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
  // There is no suffix above E; an exponent has no end.
  const greatest = asExponent ? Infinity : 18;
  let [rest, exponent] = [nanos, -9];
  while (rest % 1000n === 0n && exponent < greatest) {
    rest /= 1000n;
    exponent += 3;
  }
  if (asExponent) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes.find(([, power]) => power === exponent)?.[0] ?? ''}`;
}
