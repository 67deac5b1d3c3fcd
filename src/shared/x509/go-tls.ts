/**
 * The groups and signature algorithms that Go's TLS offers and accepts by default, in OpenSSL's names (defaultCurvePreferences and
 * defaultSupportedSignatureAlgorithms in crypto/tls). OpenSSL's own defaults also have X448, Brainpool curves and finite fields, whose key exchange is expensive
 * for the side that does not choose the group.
 */
export const goGroups = ['X25519MLKEM768', 'SecP256r1MLKEM768', 'SecP384r1MLKEM1024', 'X25519', 'P-256', 'P-384', 'P-521'];

/** Without SHA-1, which Go 1.25 dropped. */
export const goSignatureAlgorithms = [
  'rsa_pss_rsae_sha256',
  'ecdsa_secp256r1_sha256',
  'ed25519',
  'rsa_pss_rsae_sha384',
  'rsa_pss_rsae_sha512',
  'rsa_pkcs1_sha256',
  'rsa_pkcs1_sha384',
  'rsa_pkcs1_sha512',
  'ecdsa_secp384r1_sha384',
  'ecdsa_secp521r1_sha512',
].join(':');
