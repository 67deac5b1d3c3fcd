/**
 * The TLS parameters that a handshake may negotiate: those of Go's server (crypto/tls of Go 1.26, which upstream v1.36 is built with), without
 * OpenSSL's additions.
 */
import { constants } from 'node:crypto';
import { createSecureContext, getCiphers, type SecureContextOptions } from 'node:tls';
import type { TlsSettings } from '../../../shared/contracts/server/settings.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { goGroups, goSignatureAlgorithms } from '../../../shared/x509/go-tls.ts';

/**
 * In Go's order of preference. RSA key exchange, finite-field Diffie-Hellman, CBC with SHA-256, CCM, ARIA and Camellia are left out: Go does
 * not support them or disables them by default.
 */
const defaultCiphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
].join(':');

const secureOptions =
  // A second handshake could bring another certificate, which would not be verified. Go's server refuses renegotiation too.
  constants.SSL_OP_NO_RENEGOTIATION |
  // A resumed session would not be verified against the current client CAs.
  constants.SSL_OP_NO_TICKET |
  constants.SSL_OP_NO_COMPRESSION |
  // Like Go, the server chooses the cipher suite, and ChaCha20 for a client that prefers it.
  constants.SSL_OP_CIPHER_SERVER_PREFERENCE |
  constants.SSL_OP_PRIORITIZE_CHACHA;

/** Throws for versions, ciphers or groups that OpenSSL refuses. */
export function handshakeOptions({ minVersion, ciphers, curves }: TlsSettings, logger: Logger): SecureContextOptions {
  const supportedCiphers = new Set(getCiphers().map((name) => name.toUpperCase()));
  const unknownCiphers = ciphers.split(':').filter((name) => name !== '' && !supportedCiphers.has(name.toUpperCase()));
  if (unknownCiphers.length > 0)
    logger.warn({ ciphers: unknownCiphers }, 'ignoring cipher suites that this build of OpenSSL does not support');
  // Old versions sign handshakes with MD5 and SHA-1, which OpenSSL refuses at its default level (2: 112 bits).
  const level = minVersion === 'TLSv1' || minVersion === 'TLSv1.1' ? 0 : 2;
  return {
    minVersion,
    ciphers: `${ciphers || defaultCiphers}:@SECLEVEL=${level}`,
    ecdhCurve: curves || goGroups.filter(isKnownGroup).join(':'),
    sigalgs: goSignatureAlgorithms,
    secureOptions,
  };
}

/** OpenSSL supports ML-KEM since 3.5; Node may be built with an older version. */
function isKnownGroup(group: string): boolean {
  try {
    createSecureContext({ ecdhCurve: group });
    return true;
  } catch {
    return false;
  }
}
