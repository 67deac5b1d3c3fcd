/** OpenSSL verifies the keys of pods' certificates and their stub requests. Large keys take a second. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { KeyGenerator } from '../../../src/main/objects/pod-certificates/key-generator.ts';

const keys = new KeyGenerator();
for (const [keyType, algorithm, signature] of [
  ['RSA3072', 'Public-Key: (3072 bit)', 'sha256WithRSAEncryption'],
  ['RSA4096', 'Public-Key: (4096 bit)', 'sha256WithRSAEncryption'],
  ['ECDSAP256', 'NIST CURVE: P-256', 'ecdsa-with-SHA256'],
  ['ECDSAP384', 'NIST CURVE: P-384', 'ecdsa-with-SHA384'],
  ['ECDSAP521', 'NIST CURVE: P-521', 'ecdsa-with-SHA512'],
  ['ED25519', 'Public Key Algorithm: ED25519', 'Signature Algorithm: ED25519'],
] as const) {
  test(`OpenSSL accepts the stub request for a key of type ${keyType} with an empty subject`, async () => {
    const { keyPEM, stubRequest } = await keys.generate(keyType);
    const openssl = (...args: string[]) =>
      execFileSync('openssl', ['req', '-inform', 'DER', '-noout', ...args], { input: stubRequest, stdio: 'pipe' });
    const text = String(openssl('-verify', '-text'));
    for (const part of [algorithm, signature]) assert.ok(text.includes(part), `no ${part} in ${text}`);
    assert.match(text, /Subject: ?\n/);
    assert.match(text, /Attributes:\s+(\(none\)|a0:00)/);
    const publicKey = createPublicKey(createPrivateKey(keyPEM)).export({ type: 'spki', format: 'pem' });
    assert.equal(String(openssl('-pubkey')), publicKey);
  });
}
