/**
 * Why a client's certificate is too weak to be believed, though OpenSSL has verified its chain: Go's crypto/x509 refuses SHA-1 and other
 * old signatures at any setting, and reads no other keys than these. OpenSSL's security level decides that, and the old TLS versions need
 * level 0, which takes everything. Pure.
 */
import type { X509Certificate } from 'node:crypto';
import { readCertificate } from '../../../shared/x509/read-certificate.ts';

/** SHA-256, SHA-384 and SHA-512 with RSA and ECDSA; Ed25519. */
const signatures = new Set([
  '1.2.840.113549.1.1.11',
  '1.2.840.113549.1.1.12',
  '1.2.840.113549.1.1.13',
  '1.2.840.10045.4.3.2',
  '1.2.840.10045.4.3.3',
  '1.2.840.10045.4.3.4',
  '1.3.101.112',
]);
const rsaPss = '1.2.840.113549.1.1.10';
/** The DER of RSA-PSS's first parameter, its hash, with or without a NULL: SHA-256, SHA-384 or SHA-512. The default is SHA-1. */
const pssHash = /^a00(f300d|d300b)06096086480165030402(01|02|03)/;

const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** Go refuses smaller keys in crypto/rsa, and larger ones in a handshake. */
const rsaBits = { least: 1024, most: 8192 };

/** Null: all are strong enough. A certificate that signs itself counts by trust, not by its signature. */
export function findWeakness(leaf: X509Certificate): string | null {
  for (let certificate: X509Certificate | undefined = leaf; certificate; certificate = certificate.issuerCertificate) {
    const weakness = weakKey(certificate) ?? weakSignature(certificate);
    if (weakness !== null) return weakness;
  }
  return null;
}

function weakKey({ publicKey }: X509Certificate): string | null {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const bits = details?.modulusLength ?? 0;
  if (type === 'ed25519') return null;
  if (type === 'ec') return curves.has(details?.namedCurve ?? '') ? null : 'unsupported elliptic curve';
  if (type !== 'rsa') return `unsupported public key (${type})`;
  return bits >= rsaBits.least && bits <= rsaBits.most ? null : `RSA key of ${bits} bits`;
}

function weakSignature(certificate: X509Certificate): string | null {
  const { signatureAlgorithm, signatureParameters } = readCertificate(certificate.raw);
  if (signatures.has(signatureAlgorithm)) return null;
  if (signatureAlgorithm === rsaPss && pssHash.test(signatureParameters.toString('hex'))) return null;
  if (certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey)) return null;
  return `cannot verify signature: insecure algorithm ${signatureAlgorithm}`;
}
