/** Generates the keys of the node's certificates: ECDSA P-256, as upstream. */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

const generatePair = promisify(generateKeyPair);

/** Runs in the libuv thread pool. */
export async function generateKey(): Promise<KeyObject> {
  return (await generatePair('ec', { namedCurve: 'P-256' })).privateKey;
}
