/**
 * Finds weak signatures and keys in a verified client certificate chain. Go's crypto/x509 always refuses SHA-1 and other old signatures, and
 * supports only these keys. In OpenSSL this depends on the security level, and the old TLS versions need level 0, which accepts
 * everything. Pure.
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
/** DER of RSA-PSS's first parameter, the hash, with or without a NULL: SHA-256, SHA-384 or SHA-512. Without it the hash is SHA-1. */
const pssHash = /^a00(f300d|d300b)06096086480165030402(01|02|03)/;

const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** Go refuses smaller keys in crypto/rsa, and larger ones in a handshake. */
const rsaBits = { min: 1024, max: 8192 };

/** Returns null when all certificates are strong enough. The signature of a self-signed certificate does not matter: it is trusted as a root. */
export function findWeakness(leaf: X509Certificate): string | null {
  for (let certificate: X509Certificate | undefined = leaf; certificate; certificate = certificate.issuerCertificate) {
    const weakness = findKeyWeakness(certificate) ?? findSignatureWeakness(certificate);
    if (weakness !== null) return weakness;
  }
  return null;
}

function findKeyWeakness({ publicKey }: X509Certificate): string | null {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const bits = details?.modulusLength ?? 0;
  if (type === 'ed25519') return null;
  if (type === 'ec') return curves.has(details?.namedCurve ?? '') ? null : 'unsupported elliptic curve';
  if (type !== 'rsa') return `unsupported public key (${type})`;
  return bits >= rsaBits.min && bits <= rsaBits.max ? null : `RSA key of ${bits} bits`;
}

function findSignatureWeakness(certificate: X509Certificate): string | null {
  const { signatureAlgorithm, signatureParameters } = readCertificate(certificate.raw);
  if (signatures.has(signatureAlgorithm)) return null;
  if (signatureAlgorithm === rsaPss && pssHash.test(signatureParameters.toString('hex'))) return null;
  if (certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey)) return null;
  return `cannot verify signature: insecure algorithm ${signatureAlgorithm}`;
}
