/** Generates keys for pods' certificates, each with a stub request that proves its possession. */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { stubCertificateRequest, type SignatureAlgorithm } from './stub-request.ts';

export interface GeneratedKey {
  /** PKCS#8. */
  readonly keyPEM: string;
  /** PKCS#10 in DER. */
  readonly stubRequest: Buffer;
}

interface KeyType {
  readonly generatePair: () => Promise<KeyPair>;
  readonly isSlow: boolean;
  readonly signature: SignatureAlgorithm;
}
interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const generatePair = promisify(generateKeyPair);

/** The key types of the API. The signature algorithms are Go's defaults for the key. */
const keyTypes: ReadonlyMap<string, KeyType> = new Map([
  ['RSA3072', rsa(3072)],
  ['RSA4096', rsa(4096)],
  ['ECDSAP256', ecdsa('P-256', 2)],
  ['ECDSAP384', ecdsa('P-384', 3)],
  ['ECDSAP521', ecdsa('P-521', 4)],
  [
    'ED25519',
    { generatePair: () => generatePair('ed25519'), isSlow: false, signature: { oid: '1.3.101.112', hash: null, hasNullParameters: false } },
  ],
]);

function rsa(modulusLength: number): KeyType {
  const sha256WithRSA = { oid: '1.2.840.113549.1.1.11', hash: 'sha256', hasNullParameters: true };
  return { generatePair: () => generatePair('rsa', { modulusLength }), isSlow: true, signature: sha256WithRSA };
}

/** The last arc of ecdsa-with-SHA256, -SHA384 and -SHA512 is 2, 3 and 4. */
function ecdsa(namedCurve: string, arc: 2 | 3 | 4): KeyType {
  const hash = { 2: 'sha256', 3: 'sha384', 4: 'sha512' }[arc];
  return {
    generatePair: () => generatePair('ec', { namedCurve }),
    isSlow: false,
    signature: { oid: `1.2.840.10045.4.3.${arc}`, hash, hasNullParameters: false },
  };
}

/**
 * Generates one RSA key at a time: a large one occupies a core and a libuv thread for a second, and after a restart the certificates of all
 * pods are requested. Other key types are fast and run in parallel.
 */
export class KeyGenerator {
  #lastRSA: Promise<unknown> = Promise.resolve();

  /** Rejects for an unknown type. */
  async generate(keyType: string): Promise<GeneratedKey> {
    const type = keyTypes.get(keyType);
    if (!type) throw new Error(`unknown key type ${JSON.stringify(keyType)}`);
    if (!type.isSlow) return generateKey(type);
    const key = this.#lastRSA.then(() => generateKey(type));
    this.#lastRSA = key.catch(() => {});
    return key;
  }
}

async function generateKey(type: KeyType): Promise<GeneratedKey> {
  const pair = await type.generatePair();
  const stubRequest = await stubCertificateRequest(pair, type.signature);
  return { keyPEM: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), stubRequest };
}
