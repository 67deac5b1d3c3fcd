/** The TLS versions, cipher suites and curves that upstream accepts: all of Go's crypto/tls, including insecure ones. */

export const tlsVersions = ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'] as const;

const tls13Ciphers = ['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256'];
/** AEAD ciphers of the suites of TLS 1.2 with ECDHE. */
const aeadCiphers = ['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256', 'CHACHA20_POLY1305'];
/** The other ciphers of these suites. */
const cbcAndStreamCiphers = ['AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256', 'RC4_128_SHA'];

export const tlsCipherSuites: ReadonlySet<string> = new Set([
  ...tls13Ciphers.map((suite) => `TLS_${suite}`),
  ...['ECDHE_ECDSA', 'ECDHE_RSA'].flatMap((exchange) =>
    [...aeadCiphers, ...cbcAndStreamCiphers].map((suite) => `TLS_${exchange}_WITH_${suite}`),
  ),
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

/** IANA's numbers of P-256, P-384, P-521, X25519, and of the hybrids of ML-KEM with P-256, X25519 and P-384, in this order. */
export const tlsCurves: ReadonlySet<number> = new Set([23, 24, 25, 29, 4587, 4588, 4589]);
