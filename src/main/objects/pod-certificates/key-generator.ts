/** Keys for pods' certificates, of the types that a pod may ask for, each with the request that proves it is held here. */
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
  readonly make: () => Promise<KeyPair>;
  readonly isSlow: boolean;
  readonly signature: SignatureAlgorithm;
}
interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const make = promisify(generateKeyPair);

/** The signatures are those that Go picks for such a key. */
const keyTypes: ReadonlyMap<string, KeyType> = new Map([
  ['RSA3072', rsa(3072)],
  ['RSA4096', rsa(4096)],
  ['ECDSAP256', ecdsa('P-256', 2)],
  ['ECDSAP384', ecdsa('P-384', 3)],
  ['ECDSAP521', ecdsa('P-521', 4)],
  ['ED25519', { make: () => make('ed25519'), isSlow: false, signature: { oid: '1.3.101.112', hash: null, hasNullParameters: false } }],
]);

function rsa(modulusLength: number): KeyType {
  const sha256WithRSA = { oid: '1.2.840.113549.1.1.11', hash: 'sha256', hasNullParameters: true };
  return { make: () => make('rsa', { modulusLength }), isSlow: true, signature: sha256WithRSA };
}

/** ecdsa-with-SHA256, -SHA384 and -SHA512 are `.2`, `.3` and `.4`. */
function ecdsa(namedCurve: string, arc: 2 | 3 | 4): KeyType {
  const hash = { 2: 'sha256', 3: 'sha384', 4: 'sha512' }[arc];
  return {
    make: () => make('ec', { namedCurve }),
    isSlow: false,
    signature: { oid: `1.2.840.10045.4.3.${arc}`, hash, hasNullParameters: false },
  };
}

/**
 * One RSA key at a time: a large one takes a core for a second, in one of the process's file threads, and after a restart every pod's
 * certificate is asked for. The others take no time.
 */
export class KeyGenerator {
  #lastRSA: Promise<unknown> = Promise.resolve();

  /** Rejects for a type that is not known. */
  async generate(keyType: string): Promise<GeneratedKey> {
    const type = keyTypes.get(keyType);
    if (!type) throw new Error(`unknown key type ${JSON.stringify(keyType)}`);
    if (!type.isSlow) return makeKey(type);
    const made = this.#lastRSA.then(() => makeKey(type));
    this.#lastRSA = made.catch(() => {});
    return made;
  }
}

async function makeKey(type: KeyType): Promise<GeneratedKey> {
  const pair = await type.make();
  const stubRequest = await stubCertificateRequest(pair, type.signature);
  return { keyPEM: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), stubRequest };
}
