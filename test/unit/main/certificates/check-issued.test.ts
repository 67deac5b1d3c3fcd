import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { parsePair } from '../../../../src/main/certificates/certificate-pair.ts';
import { checkIssued, type IssuedFor } from '../../../../src/main/certificates/request/check-issued.ts';
import { missingFromCertificate, nodeTemplate } from '../../../../src/main/certificates/request/request-template.ts';
import { goKey } from '../../../support/certificates/go-values.ts';
import { extension, TestAuthority, type CertificateRequest } from '../../../support/api-server/certificates.ts';
import * as der from '../../../../src/shared/x509/der.ts';
import { dnsName, ipAddress } from '../../../../src/shared/x509/general-names.ts';
import { table } from '../../../support/table.ts';

const hour = 3_600_000;
const authority = new TestAuthority('ca');
const privateKey = createPrivateKey(goKey);
const publicKey = createPublicKey(privateKey);
const node: CertificateRequest = { commonName: 'system:node:node-a', organizations: ['system:nodes'] };
const issuedFor: IssuedFor = { privateKey, template: nodeTemplate('node-a'), purpose: 'client', isReused: false, nowMs: Date.now() };
const serving = { purpose: 'serving', template: nodeTemplate('node-a', { dnsNames: ['node-a'], ipAddresses: [] }) } as const;
const certify = (request: Partial<CertificateRequest> = {}): string => authority.certify(publicKey, { ...node, ...request });

function names(...altNames: der.Der[]): Partial<CertificateRequest> {
  return { extensions: [extension('2.5.29.17', der.sequence(...altNames))] };
}

table('an issued certificate is used', (row) => {
  const cases: [string, string, Partial<IssuedFor>?][] = [
    ['as requested', certify()],
    ['with its chain', certify() + authority.cert],
    ['with text around it', `Certificate:\n  Data\n${certify()}\n`],
    ['with more organizations', certify({ organizations: ['a', 'system:nodes'] })],
    ['without restriction of its usage', certify({ usages: [] })],
    ['for any usage', certify({ usages: ['any'] })],
    ['which a wrong clock takes for expired', certify({ validFromMs: Date.now() - 10 * hour, validToMs: Date.now() - 9 * hour })],
    ['for the server, without all names', certify({ commonName: 'system:node:node-a' }), serving],
    ['which a wrong clock takes for a future one', certify({ validFromMs: Date.now() + 9 * hour, validToMs: Date.now() + 10 * hour })],
  ];
  for (const [name, pem, over] of cases) {
    row(name, () => assert.equal(checkIssued(pem, { ...issuedFor, ...over }).commonName, 'system:node:node-a'));
  }
  row('and stored with its chain and its key, without other text', () => {
    const pair = checkIssued(`text\n${certify()}${authority.cert}`, issuedFor);
    assert.equal(pair.cert.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.ok(pair.cert.startsWith('-----BEGIN'));
    assert.equal(pair.key, goKey);
  });
});

table('an issued certificate is refused', (row) => {
  const another = authority.issue(node);
  const cases: [string, string, RegExp, Partial<IssuedFor>?][] = [
    ['of another key', another.cert, /private key does not match public key/],
    [
      'of another node',
      certify({ commonName: 'system:node:node-b' }),
      /lacks the common name "system:node:node-a", it has "system:node:node-b"/,
    ],
    ['without a name', certify({ commonName: '' }), /lacks the common name/],
    ['of another group', certify({ organizations: ['system:masters'] }), /lacks the organization system:nodes/],
    ['for servers only', certify({ usages: ['server'] }), /may not be used for client authentication/],
    ['for clients only', certify({ usages: ['client'] }), /may not be used for server authentication/, { purpose: 'serving' }],
    ['that ends before it begins', certify({ validFromMs: Date.now(), validToMs: Date.now() - hour }), /ends before it begins/],
    ['long ago', certify({ validFromMs: 0, validToMs: hour }), /expired at 1970-01-01T01:00:00.000Z/, { isReused: true }],
    ['without PEM', 'hello', /has no certificate in PEM/],
    ['with broken PEM', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', /invalid certificate data/],
    ['with a broken chain', `${certify()}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, /invalid certificate data/],
    ['that is cut off', certify().slice(0, 200), /has no certificate in PEM/],
    ['that is huge', certify().repeat(1000), /is larger than/],
  ];
  for (const [name, pem, message, over] of cases)
    row(name, () => assert.throws(() => checkIssued(pem, { ...issuedFor, ...over }), message));
  row('and its key is not in the error', () => {
    assert.throws(
      () => checkIssued(another.cert, issuedFor),
      (err: Error) => !err.message.includes('MHcCAQEE'),
    );
  });
});

table('a serving certificate suffices', (row) => {
  const wanted = nodeTemplate('node-a', { dnsNames: ['node-a'], ipAddresses: ['10.0.0.1', 'fd00::1'] });
  const missing = (request: Partial<CertificateRequest>) => missingFromCertificate(parsePair(certify(request), goKey), wanted);
  const [name, ipv4, ipv6] = [dnsName('node-a'), ipAddress('10.0.0.1'), ipAddress('fd00::1')];
  row('with all names', () => assert.equal(missing(names(name, ipv4, ipv6)), null));
  row('with more names', () => assert.equal(missing(names(name, ipv4, ipv6, dnsName('b'), ipAddress('10.0.0.2'))), null));
  row('not without the DNS name', () => assert.equal(missing(names(ipv4, ipv6)), 'the DNS name node-a'));
  row('not with a wildcard', () => assert.equal(missing(names(dnsName('*'), ipv4, ipv6)), 'the DNS name node-a'));
  row('not with another address', () => assert.equal(missing(names(name, ipAddress('10.0.0.2'), ipv6)), 'the IP address 10.0.0.1'));
  row('not without one of two addresses', () => assert.equal(missing(names(name, ipv4)), 'the IP address fd00::1'));
  row('not without any', () => assert.equal(missing({}), 'the DNS name node-a'));
});
