/** Builds a PKCS#10 request with an empty subject, signed with its key, by which a PodCertificateRequest proves the key's possession. */
import { certificateRequest, type KeyPair, type SignatureAlgorithm } from '../../../shared/x509/certificate-request.ts';

export type { SignatureAlgorithm };

const noNames = { commonName: '', organization: '', dnsNames: [], ipAddresses: [] };

/** Resolves with DER. The signature is computed in the libuv thread pool. */
export function stubCertificateRequest(pair: KeyPair, algorithm: SignatureAlgorithm): Promise<Buffer> {
  return certificateRequest(noNames, pair, algorithm);
}
