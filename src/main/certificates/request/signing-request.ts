/** The CertificateSigningRequest (certificates.k8s.io/v1) that the kubelet creates, and what its status means. Pure. */
import { createHash, type KeyObject } from 'node:crypto';
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import { pemBlock } from '../../../shared/x509/pem.ts';
import { elements } from '../../../shared/x509/read-der.ts';
import type { ApiObject } from '../../api/index.ts';
import { maxPairBytes } from '../certificate-pair.ts';

export interface SigningRequest extends ApiObject {
  readonly spec: {
    /** Base64 of PEM of PKCS#10. */
    readonly request: string;
    readonly signerName: string;
    readonly usages?: readonly string[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
    /** Base64 of PEM. */
    readonly certificate?: string;
  };
}

export type RequestOutcome =
  | { readonly state: 'pending' }
  /** PEM, not verified. */
  | { readonly state: 'issued'; readonly certificate: string }
  | { readonly state: 'refused'; readonly message: string };

export interface NewRequest {
  /** Null: the API server chooses a name. */
  readonly name: string | null;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** PKCS#10 in DER. */
  readonly request: Buffer;
}

export function toSigningRequest({ name, signerName, usages, request }: NewRequest): object {
  const pem = pemBlock('CERTIFICATE REQUEST', request.toString('base64'));
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: name === null ? { generateName: 'csr-' } : { name },
    spec: { request: Buffer.from(pem).toString('base64'), signerName, usages },
  };
}

/** What has become of the request with this UID. A certificate counts only once the request is approved. */
export function outcomeOf({ metadata, status = {} }: SigningRequest, uid: string): RequestOutcome {
  if (metadata.uid !== uid) return refused(`csr "${metadata.name}" changed UIDs`);
  const { conditions = [], certificate = '' } = status;
  for (const { type, reason = '', message = '' } of conditions) {
    if (type === 'Denied') return refused(`certificate signing request is denied, reason: ${reason}, message: ${message}`);
    if (type === 'Failed') return refused(`certificate signing request failed, reason: ${reason}, message: ${message}`);
  }
  if (certificate === '' || !conditions.some(({ type }) => type === 'Approved')) return { state: 'pending' };
  if (certificate.length > maxPairBytes * 2) return refused(`the issued certificate is larger than ${maxPairBytes} bytes`);
  return { state: 'issued', certificate: Buffer.from(certificate, 'base64').toString('latin1') };
}

function refused(message: string): RequestOutcome {
  return { state: 'refused', message };
}

/**
 * The name of a request that several starts of the kubelet share: the same for the same key, subject and usages (upstream: digestedName of
 * pkg/kubelet/certificate/bootstrap).
 */
export function digestedName(publicKey: KeyObject, { commonName, organization }: RequestTemplate, usages: readonly string[]): string {
  const hash = createHash('sha512-256');
  const parts = [
    publicKey.export({ type: 'spki', format: 'der' }),
    ...[commonName, organization, ...usages].map((text) => Buffer.from(text)),
  ];
  // The delimiter is not in the alphabet of base64url: no two lists of parts have the same text.
  for (const part of parts) hash.update(`${part.toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

/**
 * True when an existing request asks for the same as ours: key, subject and signer. Its signature is different, and the API server has
 * verified it (upstream: ensureCompatible).
 */
export function asksForTheSame({ spec }: SigningRequest, { signerName, request }: Pick<NewRequest, 'signerName' | 'request'>): boolean {
  try {
    const pem = Buffer.from(spec.request, 'base64').toString('latin1');
    const base64 = /-----BEGIN CERTIFICATE REQUEST-----([^-]+)-----END CERTIFICATE REQUEST-----/.exec(pem)?.[1] ?? '';
    return spec.signerName === signerName && bodyOf(Buffer.from(base64, 'base64')).equals(bodyOf(request));
  } catch {
    return false;
  }
}

/** The part of PKCS#10 that is signed. */
function bodyOf(request: Buffer): Buffer {
  const [outer] = elements(request);
  const [body] = elements(outer?.content ?? Buffer.alloc(0));
  if (!body) throw new Error('this is not a certificate request');
  return body.content;
}
