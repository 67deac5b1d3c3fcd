import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import * as der from '../../../../../src/shared/x509/der.ts';
import { findWeakness } from '../../../../../src/workers/server/tls/certificate-strength.ts';
import { TestAuthority } from '../../../../support/api-server/certificates.ts';
import { table } from '../../../../support/table.ts';

const hashes = { sha1: '1.3.14.3.2.26', sha256: '2.16.840.1.101.3.4.2.1', sha512: '2.16.840.1.101.3.4.2.3' };
const rsaPss = (...parameters: der.Der[]) => der.sequence(der.oid('1.2.840.113549.1.1.10'), der.sequence(...parameters));
const hashOfPss = (hash: keyof typeof hashes, ...rest: der.Der[]) => rsaPss(der.explicit(0, der.sequence(der.oid(hashes[hash]), ...rest)));
const plain = (oid: string) => der.sequence(der.oid(oid), der.nullValue());
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey;

/** A certificate with an invalid signature, which is not checked here. */
function aCertificate({ algorithm = plain('1.2.840.113549.1.1.11'), key = ec('P-256') }: { algorithm?: Buffer; key?: KeyObject }) {
  const name = (text: string) => der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8(text))));
  const validity = der.sequence(der.asn1Time(0), der.asn1Time(1e12));
  const spki = key.export({ type: 'spki', format: 'der' });
  const body = der.sequence(der.integer(1n), algorithm, name('ca'), validity, name('jane'), spki);
  return new X509Certificate(der.sequence(body, algorithm, der.bits(Buffer.alloc(8))));
}

const rows: { name: string; certificate: () => X509Certificate; want: RegExp | null }[] = [
  { name: 'RSA with SHA-256', certificate: () => aCertificate({}), want: null },
  {
    name: 'RSA with SHA-1',
    certificate: () => aCertificate({ algorithm: plain('1.2.840.113549.1.1.5') }),
    want: /insecure algorithm 1\.2\.840/,
  },
  { name: 'RSA with MD5', certificate: () => aCertificate({ algorithm: plain('1.2.840.113549.1.1.4') }), want: /insecure/ },
  { name: 'ECDSA with SHA-384', certificate: () => aCertificate({ algorithm: plain('1.2.840.10045.4.3.3') }), want: null },
  { name: 'ECDSA with SHA-1', certificate: () => aCertificate({ algorithm: plain('1.2.840.10045.4.1') }), want: /insecure/ },
  { name: 'Ed25519', certificate: () => aCertificate({ algorithm: plain('1.3.101.112') }), want: null },
  { name: 'RSA-PSS with SHA-256', certificate: () => aCertificate({ algorithm: hashOfPss('sha256', der.nullValue()) }), want: null },
  { name: 'RSA-PSS with SHA-512 and no NULL', certificate: () => aCertificate({ algorithm: hashOfPss('sha512') }), want: null },
  { name: 'RSA-PSS with SHA-1', certificate: () => aCertificate({ algorithm: hashOfPss('sha1') }), want: /insecure/ },
  { name: 'RSA-PSS with its default, SHA-1', certificate: () => aCertificate({ algorithm: rsaPss() }), want: /insecure/ },
  { name: 'an RSA key of 1024 bits', certificate: () => aCertificate({ key: rsa(1024) }), want: null },
  { name: 'an RSA key of 768 bits', certificate: () => aCertificate({ key: rsa(768) }), want: /RSA key of 768 bits/ },
  { name: 'P-521', certificate: () => aCertificate({ key: ec('P-521') }), want: null },
  { name: 'secp256k1', certificate: () => aCertificate({ key: ec('secp256k1') }), want: /unsupported elliptic curve/ },
  {
    name: 'a curve without a NIST name',
    certificate: () => aCertificate({ key: ec('brainpoolP256r1') }),
    want: /unsupported elliptic curve/,
  },
  {
    name: 'Ed448',
    certificate: () => aCertificate({ key: generateKeyPairSync('ed448').publicKey }),
    want: /unsupported public key \(ed448\)/,
  },
  {
    name: 'a self-signed certificate with SHA-1, whose signature does not matter',
    certificate: () => new X509Certificate(new TestAuthority('old', undefined, { hash: 'sha1' }).cert),
    want: null,
  },
  {
    name: 'a certificate with equal subject and issuer that another CA has signed with SHA-1',
    certificate: () => new X509Certificate(new TestAuthority('old', new TestAuthority('old'), { hash: 'sha1' }).cert),
    want: /insecure/,
  },
];
table('the strength of a certificate', (row) => {
  for (const { name, certificate, want } of rows) {
    row(name, () => {
      if (want === null) assert.equal(findWeakness(certificate()), null);
      else assert.match(findWeakness(certificate()) ?? 'none', want);
    });
  }
});
