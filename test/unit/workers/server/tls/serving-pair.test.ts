import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { computePairState, type PairFiles } from '../../../../../src/workers/server/tls/serving-pair.ts';
import { selfSignedCertificate } from '../../../../../src/workers/server/tls/self-signed.ts';
import { TestAuthority } from '../../../../support/api-server/certificates.ts';
import { table } from '../../../../support/table.ts';

const nowMs = Date.now();
const own = selfSignedCertificate('node-1', nowMs);
const other = selfSignedCertificate('node-1', nowMs);
const foreign = new TestAuthority('site-ca').issue({ commonName: 'node-1.example' });
const encrypted = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
}).privateKey;
const nuls = (text: string) => '\0'.repeat(text.length);
const yearMs = 365 * 24 * 3600 * 1000;

const good = { state: 'good', expired: false } as const;
const broken = (problem: string, replaceable: boolean) => ({ state: 'broken', problem, replaceable });
const rows: { name: string; files: PairFiles; atMs?: number; want: object }[] = [
  { name: 'no files', files: { cert: null, key: null }, want: { state: 'missing' } },
  { name: 'the kubelet’s own pair', files: own, want: good },
  { name: 'its own pair a year later', files: own, atMs: nowMs + yearMs, want: { state: 'good', expired: true } },
  { name: 'an operator’s pair', files: foreign, want: good },
  { name: 'empty files', files: { cert: '', key: '' }, want: broken('the certificate is empty or cut off', true) },
  { name: 'files of NULs', files: { cert: nuls(own.cert), key: nuls(own.key) }, want: broken('the certificate is empty or cut off', true) },
  {
    name: 'half a certificate',
    files: { cert: own.cert.slice(0, 200), key: own.key },
    want: broken('the certificate is empty or cut off', true),
  },
  { name: 'its own certificate and an empty key', files: { cert: own.cert, key: '' }, want: broken('the key is empty or cut off', true) },
  { name: 'an empty key alone', files: { cert: null, key: '' }, want: broken('the key is empty or cut off', true) },
  {
    name: 'an operator’s certificate and an empty key',
    files: { cert: foreign.cert, key: '' },
    want: broken('the key is empty or cut off', false),
  },
  {
    name: 'its own certificate with the key of another one',
    files: { cert: own.cert, key: other.key },
    want: broken('the key is not that of the certificate', true),
  },
  {
    name: 'an operator’s certificate and another key',
    files: { cert: foreign.cert, key: own.key },
    want: broken('the key is not that of the certificate', false),
  },
  {
    name: 'its own certificate without a key',
    files: { cert: own.cert, key: null },
    want: broken('certificate and key must be supplied as a pair', true),
  },
  {
    name: 'an operator’s certificate without a key',
    files: { cert: foreign.cert, key: null },
    want: broken('certificate and key must be supplied as a pair', false),
  },
  {
    name: 'a key without a certificate',
    files: { cert: null, key: own.key },
    want: broken('certificate and key must be supplied as a pair', false),
  },
];
table('the state of a certificate and key pair', (row) => {
  for (const { name, files, atMs = nowMs, want } of rows) row(name, () => assert.deepEqual(computePairState(files, atMs), want));
  row('an operator’s encrypted key', () => {
    const state = computePairState({ cert: foreign.cert, key: encrypted }, nowMs);
    assert.ok(state.state === 'broken' && !state.replaceable && state.problem.startsWith('the key can not be read: '));
  });
  row('a certificate with invalid content', () => {
    const cert = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    assert.deepEqual(computePairState({ cert, key: own.key }, nowMs), broken('the certificate can not be read', false));
  });
});
