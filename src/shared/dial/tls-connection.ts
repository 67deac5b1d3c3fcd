/**
 * TLS on a connection whose first received bytes are kept for error texts: OpenSSL reports one error for everything that is not TLS, while Go has a text of its own
 * for an HTTP response. Watching the bytes takes 50 of the 900 µs of a request over TLS.
 */
import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { goGroups, goSignatureAlgorithms } from '../x509/go-tls.ts';
import { maxReceivedBytes, WatchedConnection, type OnSpent, type ReceivedBytes } from './watched-connection.ts';

/**
 * Four certificates with RSA keys of 4,096 bits have 8 KiB. Go's client accepts 256 KiB of certificates; it does not verify them, so they cost nothing. OpenSSL
 * verifies them even when the result is not used. The costliest chain found, of keys whose exponents are as long as their moduli, takes 50 ms of CPU with 16 KiB
 * and 240 ms with 64 KiB.
 */
const maxHandshakeBytes = 16 * 1024;

/**
 * The ciphers that Go's client offers (defaultCipherSuites in crypto/tls). OpenSSL's defaults also have key exchanges over finite fields, whose size the server
 * chooses: a handshake with 10,000 bits would occupy the thread for tenths of a second.
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
  /** The protocols offered by ALPN, in the order of preference. Empty: the server does not choose one. */
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
  // The smaller limit applies to the handshake only.
  socket.once('secureConnect', () => (watched.maxBytes = maxReceivedBytes));
  return { socket, received: watched };
}

/**
 * Go's limit for the keys of all certificates (checkKeySize in crypto/tls). Here it applies to the server's own key only: when the other keys could be checked,
 * OpenSSL, whose limit is 16,384 bits, has already verified the signatures with them.
 */
const maxRSABits = 8192;
/**
 * A key of more than `maxRSABits`, together with the server's signature of the same length, has more bytes than this. A shorter handshake needs no check, which
 * would take 35 µs.
 */
const minCheckedBytes = (2 * maxRSABits) / 8;

/** Returns Go's error text when Go's client would refuse the server's key. */
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
    // Otherwise a server could ask for new handshakes without end.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  });
  contexts.set(onlyAEAD, context);
  return context;
}
