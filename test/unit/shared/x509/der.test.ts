import assert from 'node:assert/strict';
import * as der from '../../../../src/shared/x509/der.ts';
import { table } from '../../../support/table.ts';

const encodings: [name: string, bytes: Buffer, hex: string][] = [
  ['zero', der.integer(0n), '020100'],
  ['a number whose first bit is set', der.integer(128n), '02020080'],
  ['an OID with large arcs', der.oid('1.2.840.113549'), '06062a864886f70d'],
  ['a long string', der.octets(Buffer.alloc(300)).subarray(0, 4), '0482012c'],
  ['a time of this half of the century', der.asn1Time(Date.parse('2049-12-31T23:59:59.9Z')), '170d3439313233313233353935395a'],
  ['a time after it', der.asn1Time(Date.parse('2050-01-01T00:00:00Z')), '180f32303530303130313030303030305a'],
  ['nothing', der.nullValue(), '0500'],
  ['bits', der.bits(Buffer.from([0xa0]), 5), '030205a0'],
];
table('values are encoded as DER', (row) => {
  for (const [name, bytes, hex] of encodings) row(`${name} is encoded as DER`, () => assert.equal(bytes.toString('hex'), hex));
});
