/**
 * A PKCS#10 request that says nothing but whose key it is, signed with that key: what a PodCertificateRequest proves the key's possession
 * with. As Go's x509.CreateCertificateRequest writes it for an empty template. Node signs, but writes no requests.
 */
import { sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import * as der from '../../../shared/x509/der.ts';

export interface SignatureAlgorithm {
  readonly oid: string;
  /** Null: the algorithm hashes on its own. */
  readonly hash: string | null;
  /** Written as NULL: RSA's, for history's sake. */
  readonly hasNullParameters: boolean;
}

const signInPool = promisify(sign);

/** DER. The signature is made off the event loop. */
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
