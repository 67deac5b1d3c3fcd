import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { selfSignedCertificate } from '../../../../../src/workers/server/tls/self-signed.ts';
import { table } from '../../../../support/table.ts';

const hosts: [host: string, names: string][] = [
  ['node-1.example', 'DNS:node-1.example'],
  ['192.0.2.10', 'IP Address:192.0.2.10'],
  ['2001:db8::7', 'IP Address:2001:DB8:0:0:0:0:0:7'],
  ['::ffff:192.0.2.1', 'IP Address:0:0:0:0:0:FFFF:C000:201'],
];
table('a self-signed serving certificate', (row) => {
  for (const [host, names] of hosts) {
    row(`a serving certificate for ${host} is signed by its own CA`, () => {
      const nowMs = Date.parse('2026-03-01T12:00:00Z');
      const { cert, key } = selfSignedCertificate(host, nowMs);
      const [leaf, ca] = (cert.match(/-----BEGIN[^]+?-----END CERTIFICATE-----/g) ?? []).map((pem) => new X509Certificate(pem)) as [
        X509Certificate,
        X509Certificate,
      ];
      assert.equal(leaf.subjectAltName, names);
      assert.ok(leaf.verify(ca.publicKey) && leaf.checkIssued(ca) && ca.verify(ca.publicKey));
      assert.deepEqual([leaf.ca, ca.ca], [false, true]);
      assert.deepEqual([leaf.validFrom, leaf.validTo], ['Mar  1 11:00:00 2026 GMT', 'Mar  1 11:00:00 2027 GMT']);
      assert.ok(createPublicKey(createPrivateKey(key)).equals(leaf.publicKey));
    });
  }
});
