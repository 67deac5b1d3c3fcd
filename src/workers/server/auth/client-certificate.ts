/**
 * Who a client is by its certificate: CN is the user, each O a group. OpenSSL verifies the chain at the handshake, and the certificate is
 * read once, with that result. What can change while the connection lives (time, the authorities) is checked for each request, as upstream
 * verifies for each (apiserver pkg/authentication/request/x509).
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { readCertificate, type SubjectAttribute } from '../../../shared/x509/read-certificate.ts';
import { findWeakness } from '../tls/certificate-strength.ts';
import { noCredentials, type User, type AuthenticationResult } from './user.ts';

/** What is known of a connection's peer. */
export interface PeerCertificate {
  /** Null: the client showed none. */
  readonly certificate: ClientCertificate | null;
  /** Why the certificate does not count; empty: the chain was verified. */
  readonly fault: string;
  /** The authorities it was verified against; 0: none. */
  readonly generation: number;
}

export interface ClientCertificate {
  readonly subject: readonly SubjectAttribute[];
  readonly serialNumber: string;
  /** Hexadecimal, with colons. */
  readonly fingerprint256: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/**
 * The bytes of a handshake that does not verify its client. OpenSSL takes 100 KB of certificates, which cost 2.5 MB a connection
 * (measured: 300 connections, 754 MB). A certificate on an RSA-4096 key has 2 KB.
 */
const maxUnverifiedHandshakeBytes = 32 * 1024;

/** A connection without a handshake has no client certificate. */
export const noPeerCertificate: PeerCertificate = { certificate: null, fault: '', generation: 0 };

/**
 * Reads the certificate and the result of its verification together. Call it once, when the handshake ends: after a renegotiation the
 * socket would show the new certificate while `authorized` keeps the result of the first.
 * @param generation of the authorities that the handshake verified against
 * @returns null for a client that nobody knows and that fills memory with certificates
 */
export function readPeerCertificate(socket: TLSSocket, generation: number): PeerCertificate | null {
  const { _parent: wire } = socket as { readonly _parent?: Socket };
  if (!socket.authorized && (wire?.bytesRead ?? 0) > maxUnverifiedHandshakeBytes) return null;
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { certificate: null, fault: '', generation };
  const { serialNumber, fingerprint256, validFrom, validTo } = certificate;
  const facts = { serialNumber, fingerprint256, validFromMs: Date.parse(validFrom), validToMs: Date.parse(validTo) };
  // A stranger's subject may have a hundred kilobytes, for as long as the connection lives: it is not kept.
  const refused = (fault: string): PeerCertificate => ({ certificate: { ...facts, subject: [] }, fault, generation });
  if (!socket.authorized) return refused(String(socket.authorizationError ?? 'it was not verified'));
  try {
    const weakness = findWeakness(certificate);
    if (weakness !== null) return refused(weakness);
    return { certificate: { ...facts, subject: readCertificate(certificate.raw).subject }, fault: '', generation };
  } catch (err) {
    return refused(messageOf(err));
  }
}

const attributes = { commonName: '2.5.4.3', organization: '2.5.4.10' };
/** The attribute of a subject that holds a user's UID, beside the name. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/**
 * @param generation of the authorities that count now; 0: there are none, and certificates say nothing
 * @param nowMs wall clock
 */
export function authenticateCertificate(
  { certificate, fault, generation: verifiedBy }: PeerCertificate,
  generation: number,
  nowMs: number,
): AuthenticationResult {
  if (certificate === null || generation === 0) return noCredentials;
  const failed = (why: string): AuthenticationResult => ({
    type: 'error',
    message: `verifying certificate SN=${certificate.serialNumber} failed: ${why}`,
  });
  if (verifiedBy !== generation) return failed('the client authorities have changed since the connection was made');
  if (fault !== '') return failed(fault);
  if (!(certificate.validFromMs <= nowMs && nowMs <= certificate.validToMs)) return failed('certificate has expired or is not yet valid');
  return userOf(certificate);
}

function userOf({ subject, fingerprint256 }: ClientCertificate): AuthenticationResult {
  const valuesOf = (type: string) => subject.filter((attribute) => attribute.type === type).map(({ value }) => value);
  // As Go reads a subject: of many common names the last one counts.
  const name = valuesOf(attributes.commonName).at(-1) ?? '';
  if (name === '') return noCredentials;
  const uids = valuesOf(uidAttribute);
  if (uids.length > 1) return { type: 'error', message: `expected 1 UID, but found multiple: [${uids.join(' ')}]` };
  if (uids[0] === '') return { type: 'error', message: 'UID cannot be an empty string' };
  const user: User = {
    name,
    uid: uids[0] ?? '',
    groups: valuesOf(attributes.organization),
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint256.replaceAll(':', '').toLowerCase()}`] },
  };
  return { type: 'user', user };
}
