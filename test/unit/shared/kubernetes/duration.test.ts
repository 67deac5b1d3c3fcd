import assert from 'node:assert/strict';
import { formatDuration, parseDuration } from '../../../../src/shared/kubernetes/duration.ts';
import { table } from '../../../support/table.ts';

const readable: [text: string, ms: number][] = [
  ['0', 0],
  ['0s', 0],
  ['20s', 20_000],
  ['1h2m3.5s', 3_723_500],
  ['100ms', 100],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['-1m', -60_000],
  ['+3s', 3000],
  ['1us', 0.001],
  ['1µs', 0.001],
  ['1ns', 0.000_001],
  ['4h0m0s', 14_400_000],
];
table('a duration is parsed as in Go', (row) => {
  for (const [text, ms] of readable) {
    row(`the duration ${text} is ${ms} ms`, () => assert.equal(parseDuration(text), ms));
  }
});

const unreadable: [text: string, why: string][] = [
  ['', 'time: invalid duration ""'],
  ['x', 'time: invalid duration "x"'],
  ['10', 'time: missing unit in duration "10"'],
  ['1d', 'time: unknown unit "d" in duration "1d"'],
  ['1s2', 'time: missing unit in duration "1s2"'],
  ['.s', 'time: invalid duration ".s"'],
  ['1 s', 'time: unknown unit " s" in duration "1 s"'],
  ['-', 'time: invalid duration "-"'],
  ['9999999h', 'time: invalid duration "9999999h"'],
  ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
];
table('an invalid duration is rejected with Go’s message', (row) => {
  for (const [text, why] of unreadable) {
    row(`the duration ${JSON.stringify(text)} is rejected with Go’s message`, () =>
      assert.throws(() => parseDuration(text), { message: why }),
    );
  }
});

const shown: [ms: number, text: string][] = [
  [0, '0s'],
  [20_000, '20s'],
  [60_000, '1m0s'],
  [14_400_000, '4h0m0s'],
  [100, '100ms'],
  [1500, '1.5s'],
  [90_500, '1m30.5s'],
  [0.001, '1µs'],
  [0.000_001, '1ns'],
  [1.5, '1.5ms'],
  [-2000, '-2s'],
];
table('a duration is formatted as in Go', (row) => {
  for (const [ms, text] of shown) {
    row(`${ms} ms are formatted as ${text}`, () => assert.equal(formatDuration(ms), text));
  }
});
