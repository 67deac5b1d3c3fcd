/** Checks the certificate and key files in the kubelet's folder, and whether the kubelet may replace them. Pure. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

/** File contents. Null when the file does not exist. */
export interface PairFiles {
  readonly cert: string | null;
  readonly key: string | null;
}

export type PairState =
  | { readonly state: 'good'; readonly expired: boolean }
  | { readonly state: 'missing' }
  /** `replaceable`: the files can not be an operator's. */
  | { readonly state: 'broken'; readonly problem: string; readonly replaceable: boolean };

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;
const keyBlock = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]+-----END \1PRIVATE KEY-----/;

/**
 * A broken pair is replaceable when one of its files is empty or truncated (power loss), or when the kubelet created the certificate. Any
 * other pair may be an operator's, and may be incomplete because it is being written.
 */
export function computePairState({ cert, key }: PairFiles, nowMs: number): PairState {
  if (cert === null && key === null) return { state: 'missing' };
  const leaf = cert !== null && certificateBlock.test(cert) ? readLeaf(cert) : null;
  const broken = (problem: string, replaceable = leaf !== null && isSelfMade(leaf)): PairState => ({
    state: 'broken',
    problem,
    replaceable,
  });
  const isForeign = leaf !== null && !isSelfMade(leaf);
  if (cert !== null && !certificateBlock.test(cert)) return broken('the certificate is empty or cut off', true);
  if (key !== null && !keyBlock.test(key)) return broken('the key is empty or cut off', !isForeign);
  if (cert === null || key === null) return broken('certificate and key must be supplied as a pair');
  if (leaf === null) return broken('the certificate can not be read');
  try {
    if (!leaf.checkPrivateKey(createPrivateKey(key))) return broken('the key is not that of the certificate');
  } catch (err) {
    return broken(`the key can not be read: ${messageOf(err)}`);
  }
  return { state: 'good', expired: Date.parse(leaf.validTo) < nowMs };
}

function readLeaf(cert: string): X509Certificate | null {
  try {
    return new X509Certificate(cert);
  } catch {
    return null;
  }
}

/** Recognizes the names that the kubelet (self-signed.ts) and the Go kubelet use. */
function isSelfMade({ subject, issuer }: X509Certificate): boolean {
  const host = /^CN=(.*)@\d+$/.exec(subject)?.[1];
  return host !== undefined && /^CN=(.*)-ca@\d+$/.exec(issuer)?.[1] === host;
}
