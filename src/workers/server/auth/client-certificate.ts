/**
 * Who a client is by its certificate: CN is the user, each O a group. OpenSSL verifies the chain at the handshake, and the certificate is
 * read once, with that result. What can change while the connection lives (time, the authorities) is checked for each request, as upstream
 * verifies for each (apiserver pkg/authentication/request/x509).
 */
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { noVerdict, type User, type Verdict } from './user.ts';

/** What is known of a connection's peer. */
export interface PeerFacts {
  /** Empty (`{}`): the client showed none. */
  readonly certificate: Partial<Pick<PeerCertificate, 'valid_from' | 'valid_to' | 'serialNumber' | 'fingerprint256'>> & {
    readonly subject?: Readonly<Record<string, string | readonly string[]>> | undefined;
  };
  /** Of OpenSSL: empty when the chain was verified. */
  readonly fault: string;
  /** The authorities it was verified against; 0: none. */
  readonly generation: number;
}

/** A connection without a handshake has no client certificate. */
export const noPeer: PeerFacts = { certificate: {}, fault: '', generation: 0 };

/**
 * Reads the certificate and the result of its verification together. Call it once, when the handshake ends: after a renegotiation
 * `getPeerCertificate` would show the new certificate while `authorized` keeps the result of the first.
 * @param generation of the authorities that the handshake verified against
 */
export function readPeer(socket: TLSSocket, generation: number): PeerFacts {
  const certificate = socket.getPeerCertificate() as PeerFacts['certificate'] | null;
  const fault = socket.authorized ? '' : String(socket.authorizationError ?? 'it was not verified');
  return { certificate: certificate ?? {}, fault, generation };
}

/** The attribute of a subject that holds a user's UID, beside the name. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/**
 * @param generation of the authorities that count now; 0: there are none, and certificates say nothing
 * @param nowMs wall clock
 */
export function verdictOnCertificate(
  { certificate, fault, generation: verifiedBy }: PeerFacts,
  generation: number,
  nowMs: number,
): Verdict {
  if (certificate.subject === undefined || generation === 0) return noVerdict;
  const failed = (why: string): Verdict => ({
    type: 'error',
    message: `verifying certificate SN=${certificate.serialNumber} failed: ${why}`,
  });
  if (verifiedBy !== generation) return failed('the client authorities have changed since the connection was made');
  if (fault !== '') return failed(fault);
  if (!(Date.parse(certificate.valid_from ?? '') <= nowMs && nowMs <= Date.parse(certificate.valid_to ?? '')))
    return failed('certificate has expired or is not yet valid');
  return userOf(certificate.subject, certificate.fingerprint256 ?? '');
}

function userOf(subject: Readonly<Record<string, string | readonly string[]>>, fingerprint: string): Verdict {
  // As Go reads a subject: of many common names the last one counts.
  const name = valuesOf(subject['CN']).at(-1) ?? '';
  if (name === '') return noVerdict;
  const uids = valuesOf(subject[uidAttribute]);
  if (uids.length > 1) return { type: 'error', message: `expected 1 UID, but found multiple: [${uids.join(' ')}]` };
  if (uids[0] === '') return { type: 'error', message: 'UID cannot be an empty string' };
  const user: User = {
    name,
    uid: uids[0] ?? '',
    groups: valuesOf(subject['O']),
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint.replaceAll(':', '').toLowerCase()}`] },
  };
  return { type: 'user', user };
}

function valuesOf(values: string | readonly string[] | undefined): readonly string[] {
  if (values === undefined) return [];
  return typeof values === 'string' ? [values] : values;
}
