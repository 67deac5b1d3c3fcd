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
table('a quantity is written in its canonical form', (row) => {
  for (const [written, want] of canonical) {
    row(`the quantity ${written} is written ${want}`, () => assert.equal(canonicalQuantity(written), want));
  }
});

table('what is no quantity is refused', (row) => {
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
    '1e999999999',
    '0x10',
    'NaN',
    '１',
    '1'.repeat(300),
  ]) {
    row(`${JSON.stringify(bad.slice(0, 20))} is no quantity`, () => assert.throws(() => parseQuantity(bad), QuantityError));
  }
});

test('a negative exponent without end is the smallest amount there is', () => {
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

test('quantities compare and add exactly across their forms', () => {
  assert.equal(compareQuantities('1Gi', '1073741824'), 0);
  assert.equal(compareQuantities('100m', '0.2'), -1);
  assert.equal(compareQuantities('1Gi', '1G'), 1);
  assert.equal(formatQuantity(addQuantities('0.1', '0.2')), '300m');
  assert.equal(formatQuantity(addQuantities('0', '1Gi')), '1Gi');
  assert.equal(formatQuantity(quantityOf(2048, 'BinarySI')), '2Ki');
});
