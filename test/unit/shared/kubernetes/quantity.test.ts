import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  QuantityError,
  quantityOf,
  value,
} from '../../../../src/shared/kubernetes/quantity.ts';
import { table } from '../../../support/table.ts';

const canonical: readonly [written: string, canonical: string][] = [
  ['0', '0'],
  ['0Mi', '0'],
  ['100m', '100m'],
  ['0.1', '100m'],
  ['1.5', '1500m'],
  ['1000m', '1'],
  ['1.5Gi', '1536Mi'],
  ['1024Mi', '1Gi'],
  ['1500Mi', '1500Mi'],
  ['512', '512'],
  ['1000', '1k'],
  ['1000000', '1M'],
  ['0.5Mi', '512Ki'],
  ['0.5Ki', '512'],
  ['0.1Ki', '102400m'],
  ['2e3', '2e3'],
  ['20e2', '2e3'],
  ['1E3', '1e3'],
  ['1E', '1E'],
  ['-1.5', '-1500m'],
  ['+5', '5'],
  ['.5', '500m'],
  ['5.', '5'],
  ['0.1n', '1n'],
  ['100000Ei', '9223372036854775807'],
];
table('a quantity is formatted canonically', (row) => {
  for (const [written, want] of canonical) {
    row(`the quantity ${written} is formatted as ${want}`, () => assert.equal(canonicalQuantity(written), want));
  }
});

table('an invalid quantity is rejected', (row) => {
  for (const bad of [
    '',
    ' ',
    'x',
    '1.5.5',
    '1Kb',
    '1 Gi',
    '1KiKi',
    '1e',
    '1mm',
    '--1',
    '1e99999999999999999999',
    '1m5',
    '1k1',
    '10Gi5',
    '1ee5',
    '1e+',
    '+-1',
    '0x10',
    'NaN',
    '１',
    ' 1',
    '1 ',
    '1\n',
  ]) {
    row(`${JSON.stringify(bad)} is not a quantity`, () => assert.throws(() => parseQuantity(bad), QuantityError));
  }
});

/** Canonical forms and values of upstream's ParseQuantity. */
const extreme: readonly [written: string, canonical: string, value: number][] = [
  ['+', '0', 0],
  ['-', '0', 0],
  ['.', '0', 0],
  ['k', '0', 0],
  ['e3', '0', 0],
  ['1.G', '1G', 1e9],
  ['007', '7', 7],
  ['1e+3', '1e3', 1000],
  ['1e-3', '1e-3', 1],
  ['1e-9', '1e-9', 1],
  ['1e-10', '1e-9', 1],
  ['0.0000000001', '1n', 1],
  ['1.0000000001', '1000000001n', 2],
  ['0.1Ki', '102400m', 103],
  ['0.0005Ki', '512m', 1],
  ['0.5Ei', '512Pi', 2 ** 59],
  ['1e18', '1e18', 1e18],
  ['-100Ei', '-9223372036854775807', -(2 ** 63 - 1024)],
  ['1e4294967296', '1', 1],
  ['1e4294967299', '1e3', 1000],
  ['0e999', '0', 0],
  ['12e4', '120e3', 120_000],
  ['0.000000000000000000000000000000001', '1n', 1],
];
/** A backtracking match of these texts would take hours. */
table('a long invalid text is rejected in linear time', (row) => {
  for (const [name, bad] of [
    ['zeros', `${'0'.repeat(100_000)}x`],
    ['digits', `${'1'.repeat(100_000)}x`],
    ['a fraction', `0.${'0'.repeat(100_000)}x`],
    ['letters', `1${'E'.repeat(100_000)}x`],
  ] as const)
    row(name, () => assert.throws(() => parseQuantity(bad), QuantityError));
});

table('an unusual quantity equals upstream’s', (row) => {
  for (const [written, want, units] of extreme) {
    row(`the quantity ${written} is formatted as ${want}`, () => assert.equal(canonicalQuantity(written), want));
    row(`the quantity ${written} is ${units} units`, () => assert.equal(value(written), units));
  }
});

/** Upstream accepts these amounts too; its Value() overflows to 0 or to an arbitrary number (docs/deviations.md). */
const largest = 2 ** 63 - 1024;
const huge: readonly [written: string, canonical: string, value: number][] = [
  ['10e39', '10e39', largest],
  ['-10e39', '-10e39', -largest],
  ['1e20', '100e18', largest],
  ['1e36', '1e36', largest],
  ['10e100', '100e99', largest],
  ['1e999', '1e999', largest],
  ['1.5e40', '15e39', largest],
  ['9.3E', '9300P', largest],
  ['9223372036854775807', '9223372036854775807', largest],
  ['9223372036854775808', '9223372036854775808', largest],
  ['99999999999999999999Ki', '9223372036854775807', largest],
  ['1'.repeat(50), '1'.repeat(50), largest],
  [`${'9'.repeat(100_000)}Mi`, '9223372036854775807', largest],
];
table('an amount above an int64 is accepted and capped', (row) => {
  for (const [written, want, units] of huge) {
    row(`the quantity ${written.slice(0, 60)} is formatted as ${want}`, () => assert.equal(canonicalQuantity(written), want));
    row(`the quantity ${written.slice(0, 60)} is ${units} units`, () => assert.equal(value(written), units));
    row(`the quantity ${written.slice(0, 60)} fits an int64`, () => assert.equal(BigInt.asIntN(64, BigInt(value(written))), BigInt(units)));
  }
});

table('an amount above 10^1000 counts as 10^1000', (row) => {
  for (const written of ['1e1000', '1e999999999', '1e2147483647', '7'.repeat(1_000_000), `${'7'.repeat(1_000_000)}e999999999`]) {
    row(`${written.slice(0, 20)}…`, () => assert.equal(compareQuantities(written, '1e1000'), 0));
  }
});

test('an amount with a million digits parses fast', () => {
  assert.equal(parseQuantity(`0.${'0'.repeat(1_000_000)}1`).nanos, 1n);
  assert.equal(parseQuantity(`0.5${'0'.repeat(1_000_000)}1Ki`).nanos, 512_000_000_001n);
  assert.equal(parseQuantity(`${'0'.repeat(1_000_000)}5`).nanos, 5_000_000_000n);
});

test('a huge negative exponent yields the smallest amount', () => {
  assert.equal(parseQuantity('1e-999999999').nanos, 1n);
});

test('values round away from zero', () => {
  assert.equal(value('1.5Gi'), 1610612736);
  assert.equal(value('1m'), 1);
  assert.equal(value('-1m'), -1);
  assert.equal(value(undefined), 0);
  assert.equal(milliValue('1.0001'), 1001);
  assert.equal(milliValue('250m'), 250);
  assert.equal(milliValue('2'), 2000);
});

test('quantities in different formats compare and add exactly', () => {
  assert.equal(compareQuantities('1Gi', '1073741824'), 0);
  assert.equal(compareQuantities('100m', '0.2'), -1);
  assert.equal(compareQuantities('1Gi', '1G'), 1);
  assert.equal(formatQuantity(addQuantities('0.1', '0.2')), '300m');
  assert.equal(formatQuantity(addQuantities('0', '1Gi')), '1Gi');
  assert.equal(formatQuantity(quantityOf(2048, 'BinarySI')), '2Ki');
});
