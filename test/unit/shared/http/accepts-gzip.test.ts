import assert from 'node:assert/strict';
import { acceptsGzip } from '../../../../src/shared/http/accepts-gzip.ts';
import { table } from '../../../support/table.ts';

const cases: [header: string | undefined, want: boolean][] = [
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['deflate, GZIP;q=0.5, br', true],
  ['gzip;q=0', false],
  ['gzip ; q=0.000, identity', false],
  ['gzip;q=0.001', true],
  ['x-gzip-other', false],
  ['br;q=1, not gzip', false],
  ['*', true],
  ['br, *;q=0.1', true],
  ['*;q=0', false],
  ['*;q=0, gzip', true],
  ['*, gzip;q=0', false],
  ['identity, gzip', true],
  ['identity;q=1, gzip;q=0.5', false],
  ['identity;q=0, gzip;q=0.1', true],
  ['x-gzip', true],
  ['gzip;q=2', false],
  ['gzip;level=9', false],
];
table('a reply is compressed only for a client that accepts gzip', (row) => {
  for (const [header, want] of cases) row(`${header}`, () => assert.equal(acceptsGzip(header), want));
});
