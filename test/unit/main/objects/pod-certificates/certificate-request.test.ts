import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import { cleanCertificateChain } from '../../../../../src/main/objects/pod-certificates/certificate-chain.ts';
import { toCertificateRequest } from '../../../../../src/main/objects/pod-certificates/certificate-request.ts';
import { KeyGenerator } from '../../../../../src/main/objects/pod-certificates/key-generator.ts';
import { stubCertificateRequest } from '../../../../../src/main/objects/pod-certificates/stub-request.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const subject = { pod: aPod({ spec: { serviceAccountName: 'sa' } }), serviceAccountUID: 'sa-uid', nodeName: 'n', nodeUID: 'n-uid' };

test('a request names the pod, service account and node, and is owned by its pod', () => {
  const source = { signerName: 'example.com/s', keyType: 'ED25519', maxExpirationSeconds: 3600, userAnnotations: { 'example.com/a': 'b' } };
  assert.deepEqual(toCertificateRequest(subject, source, Buffer.from('csr')), {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'PodCertificateRequest',
    metadata: {
      namespace: 'default',
      generateName: 'req-',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-web' }],
    },
    spec: {
      signerName: 'example.com/s',
      podName: 'web',
      podUID: 'uid-web',
      serviceAccountName: 'sa',
      serviceAccountUID: 'sa-uid',
      nodeName: 'n',
      nodeUID: 'n-uid',
      maxExpirationSeconds: 3600,
      stubPKCS10Request: 'Y3Ny',
      unverifiedUserAnnotations: { 'example.com/a': 'b' },
    },
  });
});

test('absent fields are left to the API server', () => {
  const { spec } = toCertificateRequest(subject, { signerName: 'example.com/s', keyType: 'ED25519' }, Buffer.alloc(1)) as { spec: object };
  assert.deepEqual(['maxExpirationSeconds' in spec, 'unverifiedUserAnnotations' in spec], [false, false]);
});

// The key of RFC 8410, and what OpenSSL makes of it (openssl req -new -subj /): Ed25519 signs alike each time.
const rfcKey = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n';
const opensslRequest =
  'MH8wMwIBADAAMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuGgADAFBgMrZXADQQA9Hv0E5zgSdKlfmUbnNN0WiY/1YB/Oq4Pfk1Cgxq848zao7PCw/TAlEr8uXaTYuB+oEFTSe7J/MURJ3rEQtPwI';

test('a stub request equals OpenSSL’s for the key and an empty subject', async () => {
  const privateKey = createPrivateKey(rfcKey);
  const ed25519 = { oid: '1.3.101.112', hash: null, hasNullParameters: false };
  const request = await stubCertificateRequest({ privateKey, publicKey: createPublicKey(privateKey) }, ed25519);
  assert.equal(request.toString('base64'), opensslRequest);
});

test('a key has the requested type, and an unknown type is rejected', async () => {
  const keys = new KeyGenerator();
  await assert.rejects(keys.generate('RSA1024'), /^Error: unknown key type "RSA1024"$/);
  const { keyPEM, stubRequest } = await keys.generate('ECDSAP384');
  const key = createPrivateKey(keyPEM);
  assert.match(keyPEM, /^-----BEGIN PRIVATE KEY-----\n/);
  assert.equal(key.asymmetricKeyDetails?.namedCurve, 'secp384r1');
  assert.ok(stubRequest.includes(createPublicKey(key).export({ type: 'spki', format: 'der' })));
});

const block = (content: string, before = '') =>
  `-----BEGIN CERTIFICATE-----\n${before}${Buffer.from(content).toString('base64')}\n-----END CERTIFICATE-----\n`;
const chains = [
  ['its certificates in their order', block('leaf') + block('ca'), block('leaf') + block('ca')],
  ['nothing that stands between them', `subject=x\n${block('leaf')}\ni:y\n${block('ca')}z`, block('leaf') + block('ca')],
  ['nothing of their heads', block('leaf', 'Name: value\nOther: value\n\n'), block('leaf')],
  ['lines of the usual length', block('x'.repeat(60)), block('x'.repeat(60)).replace(/(.{64})(.+\n-----END)/, '$1\n$2')],
  ['nothing where there is none', 'no certificate', ''],
] as const;
table('cleaning a certificate chain', (row) => {
  for (const [name, chain, want] of chains) row(name, () => assert.equal(cleanCertificateChain(chain), want));
});
