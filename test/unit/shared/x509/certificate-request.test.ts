import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { certificateRequest, signatureAlgorithmOf, type RequestTemplate } from '../../../../src/shared/x509/certificate-request.ts';
import { elements } from '../../../../src/shared/x509/read-der.ts';
import { goKey, goRequests } from '../../../support/certificates/go-values.ts';
import { table } from '../../../support/table.ts';

const names: RequestTemplate = { commonName: 'system:node:node-a', organization: 'system:nodes', dnsNames: [], ipAddresses: [] };

function pairOf(privateKey: KeyObject) {
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** The signed bytes, with their header. */
function bodyOf(request: Buffer): Buffer {
  const [outer] = elements(request);
  const [body] = elements(outer!.content);
  return outer!.content.subarray(0, outer!.content.indexOf(body!.content) + body!.content.length);
}

table('a request has the bytes that Go writes', (row) => {
  const key = createPrivateKey(goKey);
  const cases: [string, RequestTemplate, string][] = [
    ['a client', names, goRequests.client],
    ['a server', { ...names, dnsNames: ['a.example', 'node-a'], ipAddresses: ['10.0.0.1', 'fd00::1'] }, goRequests.server],
  ];
  for (const [name, template, want] of cases) {
    row(name, async () => {
      const request = await certificateRequest(template, pairOf(key), signatureAlgorithmOf(key)!);
      assert.equal(bodyOf(request).toString('base64'), want);
    });
  }
});

table('a request is signed with its key', (row) => {
  const keys: [string, KeyObject, string][] = [
    ['P-256', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'sha256'],
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey, 'sha384'],
    ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey, 'sha512'],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'sha256'],
  ];
  for (const [name, key, hash] of keys) {
    row(name, async () => {
      const request = await certificateRequest(names, pairOf(key), signatureAlgorithmOf(key)!);
      const [, , signature] = elements(elements(request)[0]!.content);
      // The first byte is the number of unused bits.
      assert.ok(verify(hash, bodyOf(request), createPublicKey(key), signature!.content.subarray(1)));
    });
  }
  row('a key that no signer accepts has no algorithm', () => {
    assert.equal(signatureAlgorithmOf(generateKeyPairSync('ed25519').privateKey), undefined);
    assert.equal(signatureAlgorithmOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey), undefined);
  });
});
