/**
 * A certificate, and a chain above it that costs its verifier much: RSA keys whose public exponent is as long as the modulus. The signatures are wrong, which is
 * found after the computation only.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import * as der from '../../../src/shared/x509/der.ts';
import { pemBlock } from '../../../src/shared/x509/pem.ts';

const oids = { rsa: '1.2.840.113549.1.1.1', sha256WithRSA: '1.2.840.113549.1.1.11', commonName: '2.5.4.3', basicConstraints: '2.5.29.19' };
const hourMs = 3600 * 1000;

export interface CostlyChain {
  readonly cert: string;
  readonly key: string;
}

/** `type` is the leaf's key. A key of the chain has `bits` bits. */
export function costlyChain(type: 'ec' | 'rsa', length: number, bits = 3072): CostlyChain {
  const { privateKey, publicKey } =
    type === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = [publicKey.export({ type: 'spki', format: 'der' }), ...Array.from({ length: length - 1 }, () => costlyKey(bits))];
  const certificates = keys.map((key, index) => toCertificate(key, index, bits));
  return {
    cert: certificates.map((bytes) => pemBlock('CERTIFICATE', bytes.toString('base64'))).join(''),
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

function costlyKey(bits: number): der.Der {
  const modulus = oddNumber(bits, 0x80);
  const exponent = oddNumber(bits, 0x40);
  const key = der.sequence(der.integer(modulus), der.integer(exponent));
  return der.sequence(der.sequence(der.oid(oids.rsa), der.nullValue()), der.bits(key));
}

/** The number's highest byte is `highest`. */
function oddNumber(bits: number, highest: number): bigint {
  const bytes = randomBytes(bits / 8);
  bytes[0] = highest;
  bytes[bytes.length - 1]! |= 1;
  return BigInt(`0x${bytes.toString('hex')}`);
}

function toCertificate(key: der.Der, index: number, bits: number): der.Der {
  const algorithm = der.sequence(der.oid(oids.sha256WithRSA), der.nullValue());
  const isAuthority = der.sequence(der.oid(oids.basicConstraints), der.boolean(true), der.octets(der.sequence(der.boolean(true))));
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer(2n)),
    der.integer(BigInt(index + 1)),
    algorithm,
    commonName(`c${index + 1}`),
    der.sequence(der.asn1Time(Date.now() - hourMs), der.asn1Time(Date.now() + 1000 * hourMs)),
    commonName(`c${index}`),
    key,
    ...(index > 0 ? [der.explicit(3, der.sequence(isAuthority))] : []),
  );
  const signature = randomBytes(bits / 8);
  signature[0] = 0x10;
  return der.sequence(toBeSigned, algorithm, der.bits(signature));
}

function commonName(name: string): der.Der {
  return der.sequence(der.set(der.sequence(der.oid(oids.commonName), der.utf8(name))));
}
