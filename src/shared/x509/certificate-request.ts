/**
 * Builds PKCS#10 certificate requests. The bytes are those of Go's x509.CreateCertificateRequest for the same template, apart from the signature.
 * Node.js can sign but has no API for certificate requests.
 */
import { sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import * as der from './der.ts';
import { dnsName, ipAddress } from './general-names.ts';

/** What the requested certificate is for. Empty fields are omitted. */
export interface RequestTemplate {
  readonly commonName: string;
  /** At most one. */
  readonly organization: string;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface SignatureAlgorithm {
  readonly oid: string;
  /** Null when the algorithm includes its own hash. */
  readonly hash: string | null;
  /** The algorithm identifier has NULL parameters, as RFC 4055 requires for RSA. */
  readonly hasNullParameters: boolean;
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const oids = { commonName: '2.5.4.3', organization: '2.5.4.10', extensionRequest: '1.2.840.113549.1.9.14', subjectAltName: '2.5.29.17' };
/** The strings that Go encodes as PrintableString. */
const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;
const signInPool = promisify(sign);

/** Resolves with DER. The signature is computed in the libuv thread pool. */
export async function certificateRequest(
  template: RequestTemplate,
  { publicKey, privateKey }: KeyPair,
  { oid, hash, hasNullParameters }: SignatureAlgorithm,
): Promise<Buffer> {
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  // RFC 2986: version 0, subject, public key, attributes.
  const body = der.sequence(der.integer(0n), subject(template), spki, der.explicit(0, attributes(template)));
  const signature = await signInPool(hash, body, privateKey);
  const algorithm = hasNullParameters ? der.sequence(der.oid(oid), der.nullValue()) : der.sequence(der.oid(oid));
  return der.sequence(body, algorithm, der.bits(signature));
}

/** Returns Go's default algorithm for the key. Undefined for a key that a cluster's signers do not accept. */
export function signatureAlgorithmOf(key: KeyObject): SignatureAlgorithm | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'rsa') return { oid: '1.2.840.113549.1.1.11', hash: 'sha256', hasNullParameters: true };
  if (type !== 'ec') return undefined;
  // The last arc of ecdsa-with-SHA256, -SHA384 and -SHA512 is 2, 3 and 4.
  const curve = { prime256v1: [2, 'sha256'], secp384r1: [3, 'sha384'], secp521r1: [4, 'sha512'] }[details?.namedCurve ?? ''];
  return curve && { oid: `1.2.840.10045.4.3.${curve[0]}`, hash: String(curve[1]), hasNullParameters: false };
}

function subject({ commonName, organization }: RequestTemplate): der.Der {
  const names = [
    [oids.organization, organization],
    [oids.commonName, commonName],
  ] as const;
  return der.sequence(
    ...names.filter(([, name]) => name !== '').map(([id, name]) => der.set(der.sequence(der.oid(id), directoryString(name)))),
  );
}

function directoryString(name: string): der.Der {
  return printable.test(name) ? der.printableString(name) : der.utf8(name);
}

function attributes({ dnsNames, ipAddresses }: RequestTemplate): Buffer {
  if (dnsNames.length + ipAddresses.length === 0) return Buffer.alloc(0);
  const names = der.sequence(...dnsNames.map(dnsName), ...ipAddresses.map(ipAddress));
  const extension = der.sequence(der.oid(oids.subjectAltName), der.octets(names));
  return der.sequence(der.oid(oids.extensionRequest), der.set(der.sequence(extension)));
}
