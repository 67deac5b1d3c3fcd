/** Authorities and certificates for tests, written with the product's own DER: any subject, any validity, no process started. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import * as der from '../../src/shared/x509/der.ts';
import { pemBlock } from '../../src/shared/x509/pem.ts';

export interface Issued {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  /** More of the subject, by dotted OID. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly validFromMs?: number;
  readonly validToMs?: number;
  /** Default: both. */
  readonly usages?: readonly ('client' | 'server')[];
  /** Of a server; IPv4. */
  readonly address?: string;
}

const hourMs = 3600 * 1000;
const usageIds = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' };
const ecdsaWithSha256 = der.sequence(der.oid('1.2.840.10045.4.3.2'));

export class TestAuthority {
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #name: der.Der;
  static #serial = 1n;

  /** Signed by itself, or by another: then it is an intermediate. */
  constructor(name: string, parent?: TestAuthority) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#name = subject({ commonName: name });
    const extensions = [extension('2.5.29.19', der.sequence(der.boolean(true)))];
    const now = Date.now();
    this.cert = (parent ?? this).#sign(this.#name, publicKey, extensions, now - hourMs, now + hourMs);
  }

  issue(request: CertificateRequest): Issued {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { cert: this.certify(publicKey, request), key: privateKey.export({ type: 'sec1', format: 'pem' }) };
  }

  /** For a key that somebody else holds. */
  certify(publicKey: KeyObject, request: CertificateRequest): string {
    const { usages = ['client', 'server'], validFromMs = Date.now() - hourMs, validToMs = Date.now() + hourMs, address } = request;
    const extensions = [extension('2.5.29.37', der.sequence(...usages.map((usage) => der.oid(usageIds[usage]))))];
    if (address !== undefined) {
      const bytes = Buffer.from(address.split('.').map(Number));
      extensions.push(extension('2.5.29.17', der.sequence(der.implicit(7, bytes))));
    }
    return this.#sign(subject(request), publicKey, extensions, validFromMs, validToMs);
  }

  #sign(of: der.Der, publicKey: KeyObject, extensions: readonly der.Der[], fromMs: number, toMs: number): string {
    const body = der.sequence(
      der.explicit(0, der.integer(2n)),
      der.integer(TestAuthority.#serial++),
      ecdsaWithSha256,
      this.#name,
      der.sequence(der.time(fromMs), der.time(toMs)),
      of,
      publicKey.export({ type: 'spki', format: 'der' }),
      der.explicit(3, der.sequence(...extensions)),
    );
    const bytes = der.sequence(body, ecdsaWithSha256, der.bits(sign('sha256', body, this.#key)));
    return pemBlock('CERTIFICATE', bytes.toString('base64'));
  }
}

function subject({ commonName, organizations = [], attributes = {} }: CertificateRequest): der.Der {
  const pairs = [
    ...organizations.map((organization) => ['2.5.4.10', organization] as const),
    ...(commonName === undefined ? [] : [['2.5.4.3', commonName] as const]),
    ...Object.entries(attributes),
  ];
  return der.sequence(...pairs.map(([id, value]) => der.set(der.sequence(der.oid(id), der.utf8(value)))));
}

function extension(id: string, value: der.Der): der.Der {
  return der.sequence(der.oid(id), der.octets(value));
}
