/**
 * Builds a PKCS#10 request with an empty subject, signed with its key, by which a PodCertificateRequest proves the key's possession. The encoding
 * equals Go's x509.CreateCertificateRequest for an empty template. Node.js can sign but has no API for certificate requests.
 */
import { sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import * as der from '../../../shared/x509/der.ts';

export interface SignatureAlgorithm {
  readonly oid: string;
  /** Null when the algorithm includes its own hash. */
  readonly hash: string | null;
  /** The algorithm identifier has NULL parameters, as RFC 4055 requires for RSA. */
  readonly hasNullParameters: boolean;
}

const signInPool = promisify(sign);

/** Resolves with DER. The signature is computed in the libuv thread pool. */
export async function stubCertificateRequest(
  { publicKey, privateKey }: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  { oid, hash, hasNullParameters }: SignatureAlgorithm,
): Promise<Buffer> {
  const noAttributes = der.explicit(0, Buffer.alloc(0));
  const emptySubject = der.sequence();
  const body = der.sequence(der.integer(0n), emptySubject, publicKey.export({ type: 'spki', format: 'der' }), noAttributes);
  const signature = await signInPool(hash, body, privateKey);
  const algorithm = hasNullParameters ? der.sequence(der.oid(oid), der.nullValue()) : der.sequence(der.oid(oid));
  return der.sequence(body, algorithm, der.bits(signature));
}
