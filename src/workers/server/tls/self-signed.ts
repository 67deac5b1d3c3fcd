/**
 * Creates a serving certificate signed by a temporary CA whose key is discarded. Upstream: client-go util/cert GenerateSelfSignedCertKey.
 * Uses P-256 keys instead of upstream's RSA, because they are generated in a millisecond.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { ServingKeyPair } from '../../../shared/contracts/server/settings.ts';
import * as der from '../../../shared/x509/der.ts';
import { dnsName, ipAddress } from '../../../shared/x509/general-names.ts';
import { pemBlock } from '../../../shared/x509/pem.ts';

const yearMs = 365 * 24 * 3600 * 1000;
/** Tolerance for clock differences. */
const clockSkewMs = 3600 * 1000;

const oids = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
};
/**
 * The first bits of KeyUsage: digitalSignature, nonRepudiation, keyEncipherment, dataEncipherment, keyAgreement, keyCertSign. The second argument is the number
 * of unused bits at the end.
 */
const keyUsages = { authority: der.bits(Buffer.from([0b10100100]), 2), server: der.bits(Buffer.from([0b10100000]), 5) };

interface Template {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly extensions: readonly der.Der[];
  readonly nowMs: number;
}

/** Valid for one year, for one DNS name or IP address. The PEM has the leaf, then its CA. */
export function selfSignedCertificate(host: string, nowMs: number): ServingKeyPair {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const seconds = Math.floor(nowMs / 1000);
  const issuer = `${host}-ca@${seconds}`;
  const leaf = certificate({
    subject: `${host}@${seconds}`,
    issuer,
    publicKey: server.publicKey,
    signer: authority.privateKey,
    extensions: [
      extension(oids.keyUsage, true, keyUsages.server),
      extension(oids.extendedKeyUsage, false, der.sequence(der.oid(oids.serverAuth))),
      extension(oids.basicConstraints, true, der.sequence()),
      extension(oids.subjectAltName, false, der.sequence(altName(host))),
    ],
    nowMs,
  });
  const root = certificate({
    subject: issuer,
    issuer,
    publicKey: authority.publicKey,
    signer: authority.privateKey,
    extensions: [
      extension(oids.keyUsage, true, keyUsages.authority),
      extension(oids.basicConstraints, true, der.sequence(der.boolean(true))),
    ],
    nowMs,
  });
  return { cert: toPem(leaf) + toPem(root), key: server.privateKey.export({ type: 'sec1', format: 'pem' }) };
}

function certificate({ subject, issuer, publicKey, signer, extensions, nowMs }: Template): der.Der {
  const algorithm = der.sequence(der.oid(oids.ecdsaWithSha256));
  const notBefore = nowMs - clockSkewMs;
  const toBeSigned = der.sequence(
    // 2 is version 3 of X.509.
    der.explicit(0, der.integer(2n)),
    // A positive 63-bit number, like upstream's.
    der.integer((randomBytes(8).readBigUInt64BE() >> 1n) + 1n),
    algorithm,
    commonName(issuer),
    der.sequence(der.asn1Time(notBefore), der.asn1Time(notBefore + yearMs)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  return der.sequence(toBeSigned, algorithm, der.bits(sign('sha256', toBeSigned, signer)));
}

function commonName(name: string): der.Der {
  return der.sequence(der.set(der.sequence(der.oid(oids.commonName), der.utf8(name))));
}

function extension(id: string, critical: boolean, value: der.Der): der.Der {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value));
}

function altName(host: string): der.Der {
  return isIP(host) === 0 ? dnsName(host) : ipAddress(host);
}

function toPem(bytes: Buffer): string {
  return pemBlock('CERTIFICATE', bytes.toString('base64'));
}
