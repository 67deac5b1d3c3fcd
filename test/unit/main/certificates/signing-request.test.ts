import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { nodeTemplate, usagesOf } from '../../../../src/main/certificates/request/request-template.ts';
import {
  asksForTheSame,
  digestedName,
  outcomeOf,
  toSigningRequest,
  type SigningRequest,
} from '../../../../src/main/certificates/request/signing-request.ts';
import { certificateRequest, signatureAlgorithmOf } from '../../../../src/shared/x509/certificate-request.ts';
import { goKey, goRequestName, goRequestPEM } from '../../../support/certificates/go-values.ts';
import { table } from '../../../support/table.ts';

const privateKey = createPrivateKey(goKey);
const publicKey = createPublicKey(privateKey);
const template = nodeTemplate('node-a');
const signerName = 'kubernetes.io/kube-apiserver-client-kubelet';

table('the name of the first request', (row) => {
  const usages = usagesOf('client', false);
  row("is upstream's", () => assert.equal(digestedName(publicKey, template, usages), goRequestName));
  row('depends on the node', () => assert.notEqual(digestedName(publicKey, nodeTemplate('node-b'), usages), goRequestName));
  row('depends on where its parts begin', () => {
    const other = { ...template, commonName: `${template.commonName}s`, organization: template.organization.slice(1) };
    assert.notEqual(digestedName(publicKey, other, usages), digestedName(publicKey, template, usages));
  });
});

table('the request object', (row) => {
  const request = Buffer.from('DER');
  const spec = {
    request: Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nREVS\n-----END CERTIFICATE REQUEST-----\n').toString('base64'),
  };
  row('has the given name', () => {
    assert.deepEqual(toSigningRequest({ name: 'n', signerName, usages: ['a'], request }), {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'n' },
      spec: { ...spec, signerName, usages: ['a'] },
    });
  });
  row("leaves the name to the API server, with upstream's prefix", () => {
    const { metadata } = toSigningRequest({ name: null, signerName, usages: [], request }) as { metadata: object };
    assert.deepEqual(metadata, { generateName: 'csr-' });
  });
});

table('the usages are those of upstream', (row) => {
  row('of a client', () => assert.deepEqual(usagesOf('client', false), ['digital signature', 'client auth']));
  row('of a server', () => assert.deepEqual(usagesOf('serving', false), ['digital signature', 'server auth']));
  row('of an RSA key', () => assert.deepEqual(usagesOf('serving', true), ['digital signature', 'key encipherment', 'server auth']));
});

table('the status of a request', (row) => {
  const withStatus = (status: SigningRequest['status'], uid = 'u'): SigningRequest => ({
    metadata: { name: 'r', uid },
    spec: { request: '', signerName },
    ...(status && { status }),
  });
  const approved = { type: 'Approved' };
  const pem = Buffer.from('PEM').toString('base64');
  const cases: [string, SigningRequest, ReturnType<typeof outcomeOf>][] = [
    ['none', withStatus(undefined), { state: 'pending' }],
    ['approved, and not signed yet', withStatus({ conditions: [approved] }), { state: 'pending' }],
    ['signed, and not approved', withStatus({ certificate: pem }), { state: 'pending' }],
    ['issued', withStatus({ conditions: [approved], certificate: pem }), { state: 'issued', certificate: 'PEM' }],
    [
      'denied',
      withStatus({ conditions: [{ type: 'Denied', reason: 'Policy', message: 'not here' }] }),
      { state: 'refused', message: 'certificate signing request is denied, reason: Policy, message: not here' },
    ],
    [
      'approved, and failed',
      withStatus({ conditions: [approved, { type: 'Failed', reason: 'SignerValidationFailure', message: 'bad' }] }),
      { state: 'refused', message: 'certificate signing request failed, reason: SignerValidationFailure, message: bad' },
    ],
    [
      "somebody else's",
      withStatus({ conditions: [approved], certificate: pem }, 'another'),
      { state: 'refused', message: 'csr "r" changed UIDs' },
    ],
    [
      'a huge certificate',
      withStatus({ conditions: [approved], certificate: 'A'.repeat(2 ** 20) }),
      { state: 'refused', message: 'the issued certificate is larger than 262144 bytes' },
    ],
  ];
  for (const [name, request, want] of cases) row(name, () => assert.deepEqual(outcomeOf(request, 'u'), want));
});

table('an existing request of the same name', (row) => {
  const ours = async (nodeName = 'node-a') => ({
    signerName,
    request: await certificateRequest(nodeTemplate(nodeName), { publicKey, privateKey }, signatureAlgorithmOf(privateKey)!),
  });
  const existing = (pem: string, signer = signerName): SigningRequest => ({
    metadata: { name: goRequestName, uid: 'u' },
    spec: { request: Buffer.from(pem).toString('base64'), signerName: signer },
  });
  row('of the Go kubelet is taken up', async () => assert.equal(asksForTheSame(existing(goRequestPEM), await ours()), true));
  row('with another subject is not', async () => assert.equal(asksForTheSame(existing(goRequestPEM), await ours('node-b')), false));
  row('for another signer is not', async () => assert.equal(asksForTheSame(existing(goRequestPEM, 'example.com/x'), await ours()), false));
  row('with broken PEM is not', async () => {
    for (const pem of ['', 'x', '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n']) {
      assert.equal(asksForTheSame(existing(pem), await ours()), false);
    }
  });
});
