import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as der from '../../../../src/shared/x509/der.ts';
import { readCertificate } from '../../../../src/shared/x509/read-certificate.ts';
import { TestAuthority } from '../../../support/api-server/certificates.ts';
import { table } from '../../../support/table.ts';

const authority = new TestAuthority('ca');
const rawOf = (request: Parameters<TestAuthority['issue']>[0]) => new X509Certificate(authority.issue(request).cert).raw;

test('a subject is read in order, with all values of each attribute', () => {
  const raw = rawOf({ commonName: 'jané', organizations: ['dev', 'a+b,CN=admin\nO=x'], attributes: { '1.3.6.1.4.1.57683.2': 'u1' } });
  const { subject, signatureAlgorithm, signatureParameters } = readCertificate(raw);
  assert.deepEqual(subject, [
    { type: '2.5.4.10', value: 'dev' },
    { type: '2.5.4.10', value: 'a+b,CN=admin\nO=x' },
    { type: '2.5.4.3', value: 'jané' },
    { type: '1.3.6.1.4.1.57683.2', value: 'u1' },
  ]);
  assert.deepEqual([signatureAlgorithm, signatureParameters.length], ['1.2.840.10045.4.3.2', 0]);
});

/** Encodes the parts of a certificate that readCertificate reads: one attribute, with a value in DER. */
function withName(value: Buffer, version = true): Buffer {
  const name = der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), value)));
  const algorithm = der.sequence(der.oid('1.2.840.113549.1.1.11'), der.nullValue());
  const before = [der.integer(1n), algorithm, der.sequence(), der.sequence(), name];
  const body = der.sequence(...(version ? [der.explicit(0, der.integer(2n))] : []), ...before);
  return der.sequence(body, algorithm, der.bits(Buffer.alloc(0)));
}
const string = (tag: number, content: Buffer) => Buffer.concat([Buffer.from([tag, content.length]), content]);

const strings: { name: string; der: Buffer; want: string | null }[] = [
  { name: 'UTF8String', der: der.utf8('zoë'), want: 'zoë' },
  { name: 'invalid UTF8String', der: string(0x0c, Buffer.from([0xff])), want: null },
  { name: 'PrintableString', der: string(0x13, Buffer.from('jane')), want: 'jane' },
  { name: 'PrintableString outside of ASCII', der: string(0x13, Buffer.from([0xe9])), want: null },
  { name: 'IA5String', der: string(0x16, Buffer.from('jane@example')), want: 'jane@example' },
  { name: 'TeletexString', der: string(0x14, Buffer.from([0x7a, 0xeb])), want: 'zë' },
  { name: 'BMPString', der: string(0x1e, Buffer.from([0, 0x7a, 0, 0xeb])), want: 'zë' },
  { name: 'BMPString with an odd length', der: string(0x1e, Buffer.from([0])), want: null },
  { name: 'UniversalString', der: string(0x1c, Buffer.from([0, 0, 0, 0x7a])), want: null },
  { name: 'OCTET STRING', der: der.octets(Buffer.from('jane')), want: null },
  { name: 'text after a NUL', der: der.utf8('jane\0admin'), want: 'jane\0admin' },
];
table('a string of the subject', (row) => {
  for (const { name, der: value, want } of strings) {
    row(name, () => {
      if (want === null) assert.throws(() => readCertificate(withName(value)));
      else assert.deepEqual(readCertificate(withName(value)).subject, [{ type: '2.5.4.3', value: want }]);
    });
  }
  row('without a version', () => assert.equal(readCertificate(withName(der.utf8('old'), false)).subject[0]?.value, 'old'));
});

test('invalid bytes throw without other effects', () => {
  const raw = rawOf({ commonName: 'jane' });
  const changed = fc
    .tuple(fc.nat(raw.length - 1), fc.nat(255), fc.nat(raw.length))
    .map(([at, byte, end]) => Buffer.from(raw.with(at, byte)).subarray(0, end));
  fc.assert(
    fc.property(
      fc.oneof(
        changed,
        fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      ),
      (bytes) => {
        try {
          const { subject } = readCertificate(bytes);
          assert.ok(subject.every(({ type, value }) => /^[0-9.]+$/.test(type) && typeof value === 'string'));
        } catch (err) {
          assert.ok(err instanceof Error && !(err instanceof assert.AssertionError), String(err));
        }
      },
    ),
    { numRuns: 2000 },
  );
});
