import assert from 'node:assert/strict';
import { servingTemplate } from '../../../../src/main/certificates/serving/serving-names.ts';
import type { NodeAddress } from '../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../support/table.ts';

table("the serving certificate is for the Node's addresses", (row) => {
  const ip = { type: 'InternalIP', address: '10.0.0.2' };
  const cases: { name: string; addresses: NodeAddress[]; dnsOnly?: boolean; want: { dns: string[]; ips: string[] } | null }[] = [
    { name: 'none yet', addresses: [], want: null },
    { name: 'a name alone', addresses: [{ type: 'Hostname', address: 'a' }], want: null },
    { name: 'a name alone, with the gate', addresses: [{ type: 'Hostname', address: 'a' }], dnsOnly: true, want: { dns: ['a'], ips: [] } },
    { name: 'no address, with the gate', addresses: [{ type: 'InternalIP', address: 'x' }], dnsOnly: true, want: null },
    { name: 'an address and a name', addresses: [ip, { type: 'Hostname', address: 'a' }], want: { dns: ['a'], ips: ['10.0.0.2'] } },
    {
      name: 'each once, in a stable order',
      addresses: [
        { type: 'ExternalIP', address: '9.0.0.1' },
        ip,
        ip,
        { type: 'InternalDNS', address: 'b' },
        { type: 'ExternalDNS', address: 'a' },
      ],
      want: { dns: ['a', 'b'], ips: ['10.0.0.2', '9.0.0.1'] },
    },
    { name: 'an address as host name', addresses: [{ type: 'Hostname', address: '10.0.0.2' }], want: { dns: [], ips: ['10.0.0.2'] } },
    { name: 'a name as address', addresses: [ip, { type: 'InternalIP', address: 'a' }], want: { dns: [], ips: ['10.0.0.2'] } },
    { name: 'IPv6', addresses: [{ type: 'InternalIP', address: 'fd00::1' }], want: { dns: [], ips: ['fd00::1'] } },
    {
      name: 'ones that no certificate can have',
      addresses: [ip, ...['ü', 'a\0b', 'a b', '.a', 'a'.repeat(254)].map((address) => ({ type: 'Hostname', address }))],
      want: { dns: [], ips: ['10.0.0.2'] },
    },
    {
      name: 'an address with a zone',
      addresses: [ip, { type: 'InternalIP', address: 'fe80::1%eth0' }],
      want: { dns: [], ips: ['10.0.0.2'] },
    },
    {
      name: 'empty and unknown ones',
      addresses: [ip, { type: 'Hostname', address: '' }, { type: 'X', address: 'a' }],
      want: { dns: [], ips: ['10.0.0.2'] },
    },
  ];
  for (const { name, addresses, dnsOnly = false, want } of cases) {
    row(name, () => {
      const template = servingTemplate('node-a', addresses, dnsOnly);
      assert.deepEqual(template && { dns: template.dnsNames, ips: template.ipAddresses }, want);
      if (template) assert.equal(template.commonName, 'system:node:node-a');
    });
  }
});
