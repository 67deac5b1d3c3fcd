/** A certificate chain with its private key, parsed. Pure. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { pemBlock } from '../../shared/x509/pem.ts';
import { readCertificate } from '../../shared/x509/read-certificate.ts';

export interface CertificatePair {
  /** PEM, the leaf first. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  readonly leaf: X509Certificate;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The leaf's validity, in wall-clock ms. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Limits a chain with its key, as in a file or in a request's status. A chain has few certificates of 1 to 2 KiB. */
export const maxPairBytes = 256 * 1024;

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const keyBlock = /-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----[^-]+-----END \1-----/;
const [commonNameType, organizationType] = ['2.5.4.3', '2.5.4.10'];

/** Throws when the text has no certificate, or one that can't be read. */
export function parseCertificates(pem: string): X509Certificate[] {
  if (pem.length > maxPairBytes) throw new Error(`is larger than ${maxPairBytes} bytes`);
  const blocks = pem.match(certificateBlock) ?? [];
  if (blocks.length === 0) throw new Error('has no certificate in PEM');
  return blocks.map((block) => new X509Certificate(block));
}

/** Parses the first private key of the text. Error messages never quote it. */
export function parsePrivateKey(pem: string): KeyObject {
  const block = pem.length > maxPairBytes ? undefined : keyBlock.exec(pem)?.[0];
  if (block === undefined) throw new Error('has no private key in PEM');
  try {
    return createPrivateKey(block);
  } catch {
    throw new Error('has a private key that can not be read');
  }
}

/** Throws when certificate and key are unreadable or do not match. Both texts may be the same file. */
export function parsePair(certPEM: string, keyPEM: string): CertificatePair {
  const certificates = parseCertificates(certPEM);
  const key = parsePrivateKey(keyPEM);
  const leaf = certificates[0]!;
  if (!leaf.checkPrivateKey(key)) throw new Error('private key does not match public key');
  const { subject } = readCertificate(leaf.raw);
  const valuesOf = (type: string) => subject.filter((attribute) => attribute.type === type).map(({ value }) => value);
  return {
    cert: certificates.map(({ raw }) => pemBlock('CERTIFICATE', raw.toString('base64'))).join(''),
    key: toPEM(key),
    leaf,
    // Go takes the last one.
    commonName: valuesOf(commonNameType).at(-1) ?? '',
    organizations: valuesOf(organizationType),
    notBeforeMs: leaf.validFromDate.getTime(),
    notAfterMs: leaf.validToDate.getTime(),
  };
}

/** Formats a key as Go's keyutil does. */
export function toPEM(key: KeyObject): string {
  const type = key.asymmetricKeyType === 'ec' ? 'sec1' : key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'pkcs8';
  return key.export({ type, format: 'pem' });
}
