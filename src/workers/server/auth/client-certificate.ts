/**
 * Authenticates a client by its certificate: CN is the user, each O a group. OpenSSL verifies the chain at the handshake, and the
 * certificate is read once, with that result. The expiry and the client CAs may change while the connection is open; they are checked for
 * each request. Upstream verifies for each request too (apiserver pkg/authentication/request/x509).
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { readCertificate, type SubjectAttribute } from '../../../shared/x509/read-certificate.ts';
import { findWeakness } from '../tls/certificate-strength.ts';
import { noCredentials, type User, type AuthenticationResult } from './user.ts';

/** The client certificate of a connection and the result of its verification. */
export interface PeerCertificate {
  /** Null when the client sent none. */
  readonly certificate: PresentedCertificate | null;
  /** Why the certificate was not accepted. Empty when its chain was verified. */
  readonly fault: string;
  /** The client CA generation that the certificate was verified against. 0 when there were no client CAs. */
  readonly generation: number;
}

export interface PresentedCertificate {
  readonly subject: readonly SubjectAttribute[];
  readonly serialNumber: string;
  /** Hexadecimal, with colons. */
  readonly fingerprint256: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/**
 * Limit for the bytes of a handshake without a verified client. OpenSSL accepts 100 KB of certificates, which cost 2.5 MB per connection
 * (measured: 300 connections, 754 MB). A certificate with an RSA-4096 key has 2 KB.
 */
const maxUnverifiedHandshakeBytes = 32 * 1024;

/** For a connection without a client certificate. */
export const noPeerCertificate: PeerCertificate = { certificate: null, fault: '', generation: 0 };

/**
 * Reads the certificate and the result of its verification together. Must be called once, when the handshake ends: after a renegotiation
 * the socket would return the new certificate while `authorized` keeps the result for the first.
 * @param generation of the client CAs that the handshake verified against
 * @returns null for an unverified client whose certificates exceed the size limit
 */
export function readPeerCertificate(socket: TLSSocket, generation: number): PeerCertificate | null {
  const { _parent: tcpSocket } = socket as { readonly _parent?: Socket };
  if (!socket.authorized && (tcpSocket?.bytesRead ?? 0) > maxUnverifiedHandshakeBytes) return null;
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { certificate: null, fault: '', generation };
  const { serialNumber, fingerprint256, validFrom, validTo } = certificate;
  const facts = { serialNumber, fingerprint256, validFromMs: Date.parse(validFrom), validToMs: Date.parse(validTo) };
  // The subject of an unverified certificate is dropped: it may have 100 KB, which would stay in memory as long as the connection.
  const withFault = (fault: string): PeerCertificate => ({ certificate: { ...facts, subject: [] }, fault, generation });
  if (!socket.authorized) return withFault(String(socket.authorizationError ?? 'it was not verified'));
  try {
    const weakness = findWeakness(certificate);
    if (weakness !== null) return withFault(weakness);
    return { certificate: { ...facts, subject: readCertificate(certificate.raw).subject }, fault: '', generation };
  } catch (err) {
    return withFault(messageOf(err));
  }
}

const attributes = { commonName: '2.5.4.3', organization: '2.5.4.10' };
/** The subject attribute with the user's UID. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/**
 * @param generation of the current client CAs; 0 when there are none, and certificates are ignored
 * @param nowMs wall clock
 */
export function authenticateCertificate(
  { certificate, fault, generation: verifiedGeneration }: PeerCertificate,
  generation: number,
  nowMs: number,
): AuthenticationResult {
  if (certificate === null || generation === 0) return noCredentials;
  const failed = (fault: string): AuthenticationResult => ({
    type: 'error',
    message: `verifying certificate SN=${certificate.serialNumber} failed: ${fault}`,
  });
  if (verifiedGeneration !== generation) return failed('the client authorities have changed since the connection was made');
  if (fault !== '') return failed(fault);
  if (!(certificate.validFromMs <= nowMs && nowMs <= certificate.validToMs)) return failed('certificate has expired or is not yet valid');
  return toUser(certificate);
}

function toUser({ subject, fingerprint256 }: PresentedCertificate): AuthenticationResult {
  const valuesOf = (type: string) => subject.filter((attribute) => attribute.type === type).map(({ value }) => value);
  // Go uses the last of several common names.
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
