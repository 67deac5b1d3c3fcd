/** Issues certificates for tests with the kubelet's own DER encoder: any subject and any validity, without a child process. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import * as der from '../../../src/shared/x509/der.ts';
import { pemBlock } from '../../../src/shared/x509/pem.ts';

export interface Issued {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  /** Further subject attributes, by dotted OID. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly validFromMs?: number;
  readonly validToMs?: number;
  /** Default: client and server. An empty list omits the extension, which means no restriction. */
  readonly usages?: readonly (keyof typeof usageIds)[];
  /** The hash of the signature. Default: sha256. */
  readonly hash?: keyof typeof signatureIds;
  /** Further extensions, each created by `extension`. */
  readonly extensions?: readonly der.Der[];
  /** The IPv4 addresses of a server. */
  readonly address?: string;
}

const hourMs = 3600 * 1000;
const usageIds = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1', any: '2.5.29.37.0' };
/** The OID of ECDSA with each hash. */
const signatureIds = { sha1: '1.2.840.10045.4.1', sha224: '1.2.840.10045.4.3.1', sha256: '1.2.840.10045.4.3.2' };

/** Properties of an unusual certificate authority. */
export interface AuthorityTraits {
  /** False: its certificate does not allow it to sign certificates. */
  readonly isAuthority?: boolean;
  readonly pathLength?: number;
  readonly validToMs?: number;
  readonly usages?: CertificateRequest['usages'];
  readonly hash?: CertificateRequest['hash'];
  readonly extensions?: readonly der.Der[];
}

export class TestAuthority {
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #name: der.Der;
  static #serial = 1n;

  /** Creates a self-signed authority, or an intermediate one signed by `parent`. */
  constructor(name: string, parent?: TestAuthority, traits: AuthorityTraits = {}) {
    const { isAuthority = true, pathLength, usages = [], hash, extensions = [], validToMs = Date.now() + hourMs } = traits;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#name = subject({ commonName: name });
    const limit = pathLength === undefined ? [] : [der.integer(BigInt(pathLength))];
    const constraints = isAuthority ? der.sequence(der.boolean(true), ...limit) : der.sequence();
    const all = [extension('2.5.29.19', constraints), ...usageExtension(usages), ...extensions];
    this.cert = (parent ?? this).#sign(this.#name, publicKey, all, { fromMs: Date.now() - hourMs, toMs: validToMs, hash });
  }

  issue(request: CertificateRequest): Issued {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { cert: this.certify(publicKey, request), key: privateKey.export({ type: 'sec1', format: 'pem' }) };
  }

  /** Issues a certificate for an existing key. */
  certify(publicKey: KeyObject, request: CertificateRequest): string {
    const { usages = ['client', 'server'], validFromMs = Date.now() - hourMs, validToMs = Date.now() + hourMs, address, hash } = request;
    const extensions = [...usageExtension(usages), ...(request.extensions ?? [])];
    if (address !== undefined) {
      const bytes = Buffer.from(address.split('.').map(Number));
      extensions.push(extension('2.5.29.17', der.sequence(der.implicit(7, bytes))));
    }
    return this.#sign(subject(request), publicKey, extensions, { fromMs: validFromMs, toMs: validToMs, hash });
  }

  #sign(of: der.Der, publicKey: KeyObject, extensions: readonly der.Der[], { fromMs, toMs, hash = 'sha256' }: Signing): string {
    const algorithm = der.sequence(der.oid(signatureIds[hash]));
    const body = der.sequence(
      der.explicit(0, der.integer(2n)),
      der.integer(TestAuthority.#serial++),
      algorithm,
      this.#name,
      der.sequence(der.asn1Time(fromMs), der.asn1Time(toMs)),
      of,
      publicKey.export({ type: 'spki', format: 'der' }),
      der.explicit(3, der.sequence(...extensions)),
    );
    const bytes = der.sequence(body, algorithm, der.bits(sign(hash, body, this.#key)));
    return pemBlock('CERTIFICATE', bytes.toString('base64'));
  }
}

interface Signing {
  readonly fromMs: number;
  readonly toMs: number;
  readonly hash: CertificateRequest['hash'];
}

function usageExtension(usages: NonNullable<CertificateRequest['usages']>): der.Der[] {
  return usages.length === 0 ? [] : [extension('2.5.29.37', der.sequence(...usages.map((usage) => der.oid(usageIds[usage]))))];
}

function subject({ commonName, organizations = [], attributes = {} }: CertificateRequest): der.Der {
  const pairs = [
    ...organizations.map((organization) => ['2.5.4.10', organization] as const),
    ...(commonName === undefined ? [] : [['2.5.4.3', commonName] as const]),
    ...Object.entries(attributes),
  ];
  return der.sequence(...pairs.map(([id, value]) => der.set(der.sequence(der.oid(id), der.utf8(value)))));
}

export function extension(id: string, value: der.Der, critical = false): der.Der {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value));
}
