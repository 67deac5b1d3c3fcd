/** Checks an issued certificate before the kubelet uses it. Pure. */
import type { KeyObject } from 'node:crypto';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { RequestTemplate } from '../../../shared/x509/certificate-request.ts';
import { parsePair, toPEM, type CertificatePair } from '../certificate-pair.ts';
import { missingFromCertificate, type CertificatePurpose } from './request-template.ts';

export interface IssuedFor {
  readonly privateKey: KeyObject;
  readonly template: RequestTemplate;
  readonly purpose: CertificatePurpose;
  /**
   * True when the request existed before: its certificate may have expired since. A new certificate that seems to have expired shows that this
   * host's clock is wrong.
   */
  readonly isReused: boolean;
  readonly nowMs: number;
}

/** Object identifiers of extended key usages (RFC 5280). */
const usageIDs = { client: '1.3.6.1.5.5.7.3.2', serving: '1.3.6.1.5.5.7.3.1', any: '2.5.29.37.0' };

/**
 * Throws when the certificate can't be used as the requested one. A serving certificate may lack names: it is better than none, and some signers
 * issue only the names that they know.
 */
export function checkIssued(certificate: string, { privateKey, template, purpose, isReused, nowMs }: IssuedFor): CertificatePair {
  const pair = parse(certificate, privateKey);
  const missing = purpose === 'client' ? missingFromCertificate(pair, template) : null;
  if (missing !== null) throw new Error(`the issued certificate lacks ${missing}`);
  const { keyUsage: usages } = pair.leaf;
  if (usages && !usages.some((usage) => usage === usageIDs[purpose] || usage === usageIDs.any)) {
    throw new Error(`the issued certificate may not be used for ${purpose === 'client' ? 'client' : 'server'} authentication`);
  }
  if (pair.notAfterMs <= pair.notBeforeMs) throw new Error('the issued certificate ends before it begins');
  if (isReused && pair.notAfterMs <= nowMs) throw new Error(`the issued certificate expired at ${new Date(pair.notAfterMs).toISOString()}`);
  return pair;
}

function parse(certificate: string, privateKey: KeyObject): CertificatePair {
  try {
    return parsePair(certificate, toPEM(privateKey));
  } catch (err) {
    throw new Error(`invalid certificate data: ${messageOf(err)}`, { cause: err });
  }
}
