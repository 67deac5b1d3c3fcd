/**
 * A resource quantity in its Go representation (apimachinery pkg/api/resource). One amount has several representations, which depend on
 * its text and on computations, and the dump shows them. All other code uses shared/kubernetes/quantity.ts.
 */
import type { GoStruct } from './go-type.ts';

export interface GoQuantity {
  /** The amount is value × 10^scale when `decimal` is null. */
  readonly value: bigint;
  readonly scale: number;
  /**
   * The amount is unscaled ÷ 10^scale. Go uses this form for amounts that are too large or too precise for an int64, and for binary
   * fractions.
   */
  readonly decimal: { readonly unscaled: bigint; readonly scale: number } | null;
  /** The parsed text, if it was canonical. */
  readonly text: string;
  /** Empty for a null quantity. */
  readonly format: '' | 'DecimalSI' | 'BinarySI' | 'DecimalExponent';
}

export const zeroGoQuantity: GoQuantity = { value: 0n, scale: 0, decimal: null, text: '', format: '' };

const nanoScale = 9;
const maxInt64 = (1n << 63n) - 1n;
/** An int64 holds any number with this many digits (upstream maxInt64Factors). */
const maxInt64Digits = 18;

/** The groups: sign, integer part without leading zeros, fraction, suffix. */
const grammar = /^([-+]?)0*([1-9][0-9]*)?(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;
const decimalExponents: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Parses like ParseQuantity. Invalid text is zero: validation rejects it, or no code reads it. */
export function parseGoQuantity(text: string): GoQuantity {
  if (text === '0') return { ...zeroGoQuantity, text, format: 'DecimalSI' };
  const match = text.length > 256 ? null : grammar.exec(text);
  if (!match) return zeroGoQuantity;
  const [, sign = '', digits = '', fraction = '', suffix = ''] = match;
  const [integerPart, isNegative] = [digits || '0', sign === '-'];
  const [base, exponent, format] = readSuffix(suffix);
  return (
    asInt64({ text, integerPart, fraction, isNegative, base, exponent, format }) ??
    asDecimal({ integerPart, fraction, isNegative, base, exponent, format })
  );
}

interface Parts {
  readonly integerPart: string;
  readonly fraction: string;
  readonly isNegative: boolean;
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: GoQuantity['format'];
}

function readSuffix(suffix: string): [base: 2 | 10, exponent: number, format: GoQuantity['format']] {
  if (Object.hasOwn(decimalExponents, suffix)) return [10, decimalExponents[suffix] ?? 0, 'DecimalSI'];
  if (Object.hasOwn(binaryExponents, suffix)) return [2, binaryExponents[suffix] ?? 0, 'BinarySI'];
  // Go truncates an int64 to 32 bits.
  return [10, Number(suffix.slice(1)) | 0, 'DecimalExponent'];
}

/**
 * Returns the int64 form, or null when the digits may not fit. This is the fast path of upstream's ParseQuantity, with its formulas: its estimate of the
 * spare digits (three decimal digits for ten bits), and its test of whether the text is canonical.
 */
function asInt64({
  text,
  integerPart,
  fraction,
  isNegative,
  base,
  exponent,
  format,
}: Parts & { readonly text: string }): GoQuantity | null {
  const spareDigits =
    base === 10
      ? maxInt64Digits - integerPart.length - fraction.length
      : fraction === ''
        ? 15 - integerPart.length - Math.trunc((exponent * 3) / 10) - 1
        : -1;
  const scale = (base === 10 ? exponent : 0) - fraction.length;
  if (spareDigits < 0 || scale < -nanoScale) return null;
  const digits = integerPart + fraction;
  const magnitude = BigInt(digits) * (base === 2 ? 1n << BigInt(exponent) : 1n);
  if (magnitude > maxInt64) return null;
  const isCanonical = base === 2 ? (BigInt(digits) & 7n) !== 0n : scale % 3 === 0 && !digits.endsWith('000') && digits[0] !== '0';
  return { value: isNegative ? -magnitude : magnitude, scale, decimal: null, text: isCanonical ? text : '', format };
}

function asDecimal({ integerPart, fraction, isNegative, base, exponent, format }: Parts): GoQuantity {
  const digits = BigInt(integerPart + fraction);
  const given = { unscaled: base === 2 ? digits << BigInt(exponent) : digits, scale: fraction.length - (base === 10 ? exponent : 0) };
  let amount = digits === 0n ? given : roundUp(given, nanoScale);
  // Upstream caps amounts of binary formats.
  if (format === 'BinarySI' && amount.unscaled > maxInt64 * 10n ** BigInt(nanoScale)) amount = { unscaled: maxInt64, scale: 0 };
  // A binary format can't show less than one, so upstream makes it decimal. The power is small: only amounts of binary formats have a bounded scale.
  const isBelowOne = format === 'BinarySI' && amount.unscaled > 0n && amount.unscaled < 10n ** BigInt(Math.max(amount.scale, 0));
  const unscaled = isNegative ? -amount.unscaled : amount.unscaled;
  return {
    ...zeroGoQuantity,
    decimal: { unscaled, scale: amount.scale },
    format: isBelowOne ? 'DecimalSI' : format,
  };
}

type Decimal = NonNullable<GoQuantity['decimal']>;

/**
 * Longer numbers keep their scale and are never expanded, because no resource has such an amount. Numbers with more fraction digits are
 * rounded to this precision.
 */
const maxShift = 1000;

/** Rounds away from zero to exactly this scale. */
function roundUp({ unscaled, scale }: Decimal, to: number): Decimal {
  const shift = to - scale;
  if (shift < -maxShift) return { unscaled: BigInt(unscaled > 0n) - BigInt(unscaled < 0n), scale: to };
  if (shift > maxShift) return { unscaled, scale };
  if (shift >= 0) return { unscaled: unscaled * 10n ** BigInt(shift), scale: to };
  const divisor = 10n ** BigInt(-shift);
  return { unscaled: divideAwayFromZero(unscaled, divisor), scale: to };
}

function divideAwayFromZero(dividend: bigint, divisor: bigint): bigint {
  const rest = dividend % divisor;
  return dividend / divisor + (rest === 0n ? 0n : rest > 0n ? 1n : -1n);
}

/** RoundUp(Milli): resource lists of the API have no finer unit. */
export function roundUpToMillis(quantity: GoQuantity): GoQuantity {
  const milliScale = 3;
  if (quantity.decimal) return { ...quantity, text: '', decimal: roundUp(quantity.decimal, milliScale) };
  if (quantity.scale >= -milliScale) return quantity;
  const value = divideAwayFromZero(quantity.value, 10n ** BigInt(-milliScale - quantity.scale));
  return { ...quantity, text: '', value, scale: -milliScale };
}

/** Add: uses the finer of the two scales while the sum fits an int64. */
export function addGoQuantities(a: GoQuantity, b: GoQuantity): GoQuantity {
  const format = isZero(a) ? b.format : a.format;
  if (!a.decimal && !b.decimal) {
    if (b.value === 0n) return { ...a, text: '', format };
    if (a.value === 0n) return { ...b, text: '', format };
    if (Math.abs(a.scale - b.scale) > maxShift) return { ...(a.scale > b.scale ? a : b), text: '', format };
    const scale = Math.min(a.scale, b.scale);
    const value = a.value * 10n ** BigInt(a.scale - scale) + b.value * 10n ** BigInt(b.scale - scale);
    if (value <= maxInt64 && value >= -maxInt64) return { ...a, text: '', format, value, scale };
  }
  const [left, right] = [toDecimal(a), toDecimal(b)];
  const scale = Math.max(left.scale, right.scale);
  const unscaled = roundUp(left, scale).unscaled + roundUp(right, scale).unscaled;
  return { ...zeroGoQuantity, format, decimal: { unscaled, scale } };
}

/**
 * Returns the greater quantity, or the second when both are equal. Go's comparison converts its left operand to a decimal when either
 * operand is a decimal, and Go keeps the converted operand.
 */
export function greaterGoQuantity(a: GoQuantity, b: GoQuantity): GoQuantity {
  const [left, right] = [toDecimal(a), toDecimal(b)];
  const scale = Math.max(left.scale, right.scale);
  if (roundUp(left, scale).unscaled <= roundUp(right, scale).unscaled) return b;
  return a.decimal || b.decimal ? { ...a, value: 0n, scale: 0, decimal: left } : a;
}

function isZero({ value, decimal }: GoQuantity): boolean {
  return decimal ? decimal.unscaled === 0n : value === 0n;
}

function toDecimal({ value, scale, decimal }: GoQuantity): Decimal {
  return decimal ?? { unscaled: value, scale: -scale };
}

/** Returns the struct with Go's field names. */
export function toGoStruct({ value, scale, decimal, text, format }: GoQuantity): GoStruct {
  return {
    i: { value, scale },
    d: { Dec: decimal && { unscaled: { neg: decimal.unscaled < 0n, abs: wordsOf(decimal.unscaled) }, scale: decimal.scale } },
    s: text,
    Format: format,
  };
}

/** Splits a big number into 64-bit words, lowest first. Zero has no words: its slice is nil. */
function wordsOf(number: bigint): bigint[] | null {
  const words: bigint[] = [];
  for (let rest = number < 0n ? -number : number; rest > 0n; rest >>= 64n) words.push(rest & ((1n << 64n) - 1n));
  return words.length > 0 ? words : null;
}
