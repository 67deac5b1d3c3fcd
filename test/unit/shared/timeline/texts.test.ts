import assert from 'node:assert/strict';
import { formatMs } from '../../../../src/shared/timeline/format-duration.ts';
import { shortenName, truncateBytes } from '../../../../src/shared/timeline/shorten.ts';
import { table } from '../../../support/table.ts';

table('durations for people', (row) => {
  const cases: [number, string][] = [
    [0, '0 ms'],
    [-5, '0 ms'],
    [340.4, '340 ms'],
    [1234, '1.2 s'],
    [9949, '9.9 s'],
    [12_400, '12 s'],
    [185_000, '3 m 5 s'],
    [7_380_000, '2 h 3 m'],
    [435_600_000, '5 d 1 h'],
  ];
  for (const [ms, want] of cases) row(`${ms} ms`, () => assert.equal(formatMs(ms), want));
});

table('texts of bounded length', (row) => {
  row('a short text stays', () => assert.equal(truncateBytes('müsli', 6), 'müsli'));
  row('a character is not cut', () => assert.equal(truncateBytes('müsli', 2), 'm'));
  row('a long name keeps its beginning', () => assert.match(shortenName('a'.repeat(63), 24), /^a{19}~[0-9a-f]{4}$/));
  row('long names stay different', () => assert.notEqual(shortenName(`${'a'.repeat(62)}b`, 24), shortenName(`${'a'.repeat(62)}c`, 24)));
  row('a name of other characters fits too', () => assert.ok(Buffer.byteLength(shortenName('語'.repeat(30), 24)) <= 24));
});
