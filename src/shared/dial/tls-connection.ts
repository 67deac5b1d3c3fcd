/**
 * TLS on a connection whose first received bytes are kept: OpenSSL has one error for all that is not TLS, and Go has another one for HTTP. Costs 50 µs of the 900 µs that
 * a request has with TLS.
 */
import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { goGroups, goSignatureAlgorithms } from '../x509/go-tls.ts';
import { maxReceivedBytes, WatchedConnection, type OnSpent, type ReceivedBytes } from './watched-connection.ts';

/**
 * Four certificates with RSA keys of 4,096 bits have 8 KiB. Go allows 256 KiB of certificates, which cost its client nothing: OpenSSL verifies them even when the
 * result is not used. The costliest chain found takes 50 ms of CPU for these 16 KiB, and 240 ms for 64 KiB: keys whose exponents are as long as their moduli.
 */
const maxHandshakeBytes = 16 * 1024;

/**
 * What Go's client offers (defaultCipherSuites in crypto/tls). OpenSSL offers groups of finite
 * fields, too, whose size the server chooses: a handshake with 10,000 bits would occupy the thread for tenths of a second.
 */
const aeadCiphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];
const cbcCiphers = ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA', 'ECDHE-RSA-AES256-SHA'];

export interface TLSOptions {
  readonly host: string;
  /** In the order of preference. Empty: the server chooses nothing. */
  readonly protocols: readonly string[];
  /** grpc-go does not offer the ciphers that HTTP/2 forbids. */
  readonly onlyAEAD?: boolean;
  readonly onSpent?: OnSpent | undefined;
}

/**
 * No certificate is verified. Servers with short keys are accepted: nothing that must stay secret is sent. The owner of the result ends both it and the
 * connection.
 */
export function secureConnection(
  connection: Socket,
  { host, protocols, onlyAEAD = false, onSpent }: TLSOptions,
): { readonly socket: TLSSocket; readonly received: ReceivedBytes } {
  const watched = new WatchedConnection(connection, maxHandshakeBytes, onSpent);
  const socket = connect({
    socket: watched,
    secureContext: contextOf(onlyAEAD),
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
    ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
  });
  socket.once('secureConnect', () => (watched.maxBytes = maxReceivedBytes));
  return { socket, received: watched };
}

/** Go: checkKeySize in crypto/tls, for the keys of all certificates. OpenSSL has a limit of 16,384 bits, and verifies what the others sign before this. */
const maxRSABits = 8192;
/** A longer key and the server's signature with it have more. To read the key costs 35 µs. */
const minCheckedBytes = (2 * maxRSABits) / 8;

/** Returns Go's text for a key that its client refuses. */
export function serverKeyFault(socket: TLSSocket, { count }: ReceivedBytes): string | undefined {
  if (count < minCheckedBytes) return undefined;
  const { modulusLength = 0 } = socket.getPeerX509Certificate()?.publicKey.asymmetricKeyDetails ?? {};
  return modulusLength > maxRSABits ? `tls: server sent certificate containing RSA key larger than ${maxRSABits} bits` : undefined;
}

const contexts = new Map<boolean, SecureContext>();

function contextOf(onlyAEAD: boolean): SecureContext {
  const known = contexts.get(onlyAEAD);
  if (known) return known;
  const ciphers = [...aeadCiphers, ...(onlyAEAD ? [] : cbcCiphers), '@SECLEVEL=0'];
  const context = createSecureContext({
    ciphers: ciphers.join(':'),
    ecdhCurve: goGroups.join(':'),
    sigalgs: goSignatureAlgorithms,
    minVersion: 'TLSv1.2',
    // A server could ask for handshakes without an end.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  });
  contexts.set(onlyAEAD, context);
  return context;
}
