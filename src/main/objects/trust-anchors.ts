/** Merges trust bundles: each certificate once, in an order that does not depend on the bundles' (upstream normalizeTrustAnchors). Pure. */
import { pemBlock } from '../../shared/x509/pem.ts';

const block = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;

/** Returns PEM without headers and text between the blocks. */
export function normalizeTrustAnchors(bundles: readonly string[]): string {
  const certificates = new Set<string>();
  for (const bundle of bundles) {
    for (const [, body = ''] of bundle.matchAll(block)) certificates.add(Buffer.from(body, 'base64').toString('base64'));
  }
  return [...certificates]
    .toSorted()
    .map((base64) => pemBlock('CERTIFICATE', base64))
    .join('');
}
