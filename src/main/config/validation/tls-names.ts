/** The TLS versions, cipher suites and curves that upstream accepts: all of Go's crypto/tls, including insecure ones. */

export const tlsVersions = ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'] as const;

const tls13 = ['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256'];
const authenticated = ['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256', 'CHACHA20_POLY1305'];
const chained = ['AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256', 'RC4_128_SHA'];

export const tlsCipherSuites: ReadonlySet<string> = new Set([
  ...tls13.map((suite) => `TLS_${suite}`),
  ...['ECDHE_ECDSA', 'ECDHE_RSA'].flatMap((exchange) => [...authenticated, ...chained].map((suite) => `TLS_${exchange}_WITH_${suite}`)),
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  ...[
    'RC4_128_SHA',
    '3DES_EDE_CBC_SHA',
    'AES_128_CBC_SHA',
    'AES_256_CBC_SHA',
    'AES_128_CBC_SHA256',
    'AES_128_GCM_SHA256',
    'AES_256_GCM_SHA384',
  ].map((suite) => `TLS_RSA_WITH_${suite}`),
]);

/** P-256, P-384, P-521, X25519, and their ML-KEM hybrids: SecP256r1, X25519, SecP384r1. */
export const tlsCurves: ReadonlySet<number> = new Set([23, 24, 25, 29, 4587, 4588, 4589]);
