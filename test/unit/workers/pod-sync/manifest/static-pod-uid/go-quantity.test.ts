import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addGoQuantities,
  greaterGoQuantity,
  parseGoQuantity,
  roundUpToMillis,
  toGoStruct,
  type GoQuantity,
} from '../../../../../../src/workers/pod-sync/manifest/static-pod-uid/go-quantity.ts';
import { table } from '../../../../../support/table.ts';

/** Prints value×10^scale or unscaled÷10^scale, the remembered text and the format. */
function print({ value, scale, decimal, text, format }: GoQuantity): string {
  const amount = decimal ? `dec ${decimal.unscaled}/${decimal.scale}` : `int ${value}x${scale}`;
  return `${amount} '${text}' ${format}`;
}

const parsed: readonly [text: string, form: string][] = [
  ['0', "int 0x0 '0' DecimalSI"],
  ['1.5', "int 15x-1 '' DecimalSI"],
  ['1500m', "int 1500x-3 '1500m' DecimalSI"],
  ['1000', "int 1000x0 '' DecimalSI"],
  ['1k', "int 1x3 '1k' DecimalSI"],
  ['1e3', "int 1x3 '1e3' DecimalExponent"],
  ['0.1', "int 1x-1 '' DecimalSI"],
  ['+007', "int 7x0 '+007' DecimalSI"],
  ['-3', "int -3x0 '-3' DecimalSI"],
  ['1Gi', "int 1073741824x0 '1Gi' BinarySI"],
  ['8Ki', "int 8192x0 '' BinarySI"],
  ['1.5Gi', "dec 1610612736000000000/9 '' BinarySI"],
  ['0.0005Ki', "dec 512000000/9 '' DecimalSI"],
  ['-1.5Ki', "dec -1536000000000/9 '' BinarySI"],
  ['20Ei', "dec 9223372036854775807/0 '' BinarySI"],
  ['1234567890123456789', "dec 1234567890123456789000000000/9 '' DecimalSI"],
  ['0.00000000001', "dec 1/9 '' DecimalSI"],
  ['1e-999999999', "dec 1/9 '' DecimalExponent"],
  ['-1e-999999999', "dec -1/9 '' DecimalExponent"],
  ['0.0000000000', "dec 0/10 '' DecimalSI"],
  ['10e39', "int 10x39 '10e39' DecimalExponent"],
  ['1e4294967299', "int 1x3 '1e4294967299' DecimalExponent"],
  ['much', "int 0x0 '' "],
];
table('a quantity has Go’s representation', (row) => {
  for (const [text, form] of parsed) {
    row(`${text} is ${form}`, () => assert.equal(print(parseGoQuantity(text)), form));
  }
});

const rounded: readonly [text: string, form: string][] = [
  ['1.5', "int 15x-1 '' DecimalSI"],
  ['100m', "int 100x-3 '100m' DecimalSI"],
  ['1u', "int 1x-3 '' DecimalSI"],
  ['-0.0015', "int -2x-3 '' DecimalSI"],
  ['1.5Gi', "dec 1610612736000/3 '' BinarySI"],
];
table('a quantity is rounded up to the thousandth', (row) => {
  for (const [text, form] of rounded) {
    row(`${text} rounded to the thousandth is ${form}`, () => assert.equal(print(roundUpToMillis(parseGoQuantity(text))), form));
  }
});

const sums: readonly [a: string, b: string, sum: string][] = [
  ['1', '1', "int 2x0 '' DecimalSI"],
  ['1', '250m', "int 1250x-3 '' DecimalSI"],
  ['1k', '1Gi', "int 1073742824x0 '' DecimalSI"],
  ['0', '1Gi', "int 1073741824x0 '' BinarySI"],
  ['1Gi', '0', "int 1073741824x0 '' BinarySI"],
  ['1Gi', '1.5Gi', "dec 2684354560000000000/9 '' BinarySI"],
  ['1', '1e999999999', "int 1x999999999 '' DecimalSI"],
  ['900000000000000000', '9E', "dec 9900000000000000000/0 '' DecimalSI"],
];
table('quantities are added like in Go', (row) => {
  for (const [a, b, sum] of sums) {
    row(`${a} plus ${b} is ${sum}`, () => assert.equal(print(addGoQuantities(parseGoQuantity(a), parseGoQuantity(b))), sum));
  }
});

const greatest: readonly [a: string, b: string, greater: string][] = [
  ['2', '1', "int 2x0 '2' DecimalSI"],
  ['1', '1000m', "int 1000x-3 '' DecimalSI"],
  ['2Gi', '1.5Gi', "dec 2147483648/0 '2Gi' BinarySI"],
  ['1Gi', '1.5Gi', "dec 1610612736000000000/9 '' BinarySI"],
];
table('the greater of two quantities is kept', (row) => {
  for (const [a, b, greater] of greatest) {
    row(`the greater of ${a} and ${b} is ${greater}`, () =>
      assert.equal(print(greaterGoQuantity(parseGoQuantity(a), parseGoQuantity(b))), greater),
    );
  }
});

test('a big number is split into 64-bit words, lowest first', () => {
  const { d } = toGoStruct(roundUpToMillis(parseGoQuantity('20Ei')));
  assert.deepEqual(d, { Dec: { unscaled: { neg: false, abs: [18446744073709550616n, 499n] }, scale: 3 } });
});
