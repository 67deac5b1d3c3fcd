import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  computeAddresses,
  localHostIPs,
  nodeHostIPs,
  type Addresses,
  type HostNetwork,
} from '../../../../../src/main/node/addresses/node-addresses.ts';
import { parseNodeIPs } from '../../../../../src/main/node/addresses/node-ips.ts';
import { aHostInterface } from '../../../../support/pods/host-interface.ts';
import { table } from '../../../../support/table.ts';

const network: HostNetwork = {
  interfaces: [
    aHostInterface('lo', ['127.0.0.1']),
    aHostInterface('eth1', ['198.51.100.1']),
    aHostInterface('eth0', ['192.0.2.7', '2001:db8::7']),
  ],
  routes: {
    ipv4: 'Iface\neth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n',
    ipv6: `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${'f'.repeat(32)} 400 1 0 3 eth0\n`,
  },
  resolved: [],
};
const cases: {
  name: string;
  nodeIP?: string;
  hostname?: string;
  external?: boolean;
  existing?: { type: string; address: string }[];
  resolved?: string[];
  want: Omit<Addresses, 'addresses'> & { addresses?: string[] };
}[] = [
  {
    name: 'a node without --node-ip has the address of the default route’s interface',
    want: { providedNodeIP: null, addresses: ['InternalIP 192.0.2.7', 'Hostname n1'] },
  },
  {
    name: 'a node has the address that its name resolves to',
    resolved: ['203.0.113.9', '198.51.100.1'],
    want: { providedNodeIP: null, addresses: ['InternalIP 198.51.100.1', 'Hostname n1'] },
  },
  {
    name: 'a loopback address that the node’s name resolves to is ignored',
    resolved: ['127.0.1.1'],
    want: { providedNodeIP: null, addresses: ['InternalIP 192.0.2.7', 'Hostname n1'] },
  },
  {
    name: 'a node whose name is an address has that address',
    hostname: '198.51.100.77',
    want: { providedNodeIP: null, addresses: ['InternalIP 198.51.100.77', 'Hostname 198.51.100.77'] },
  },
  {
    name: 'a dual-stack node has both addresses, in the order of --node-ip',
    nodeIP: '2001:db8::7,192.0.2.7',
    want: { providedNodeIP: null, addresses: ['InternalIP 2001:db8::7', 'InternalIP 192.0.2.7', 'Hostname n1'] },
  },
  {
    name: 'a node with --node-ip=:: has an IPv6 address',
    nodeIP: '::',
    want: { providedNodeIP: null, addresses: ['InternalIP 2001:db8::7', 'Hostname n1'] },
  },
  {
    name: 'a node with a foreign --node-ip keeps its addresses',
    nodeIP: '192.0.2.8',
    want: { problem: 'failed to validate nodeIP: node IP: "192.0.2.8" not found in the host\'s network interfaces' },
  },
  {
    name: 'a node with an external cloud provider has only its host name until the provider sets the addresses',
    external: true,
    want: { providedNodeIP: null, addresses: ['Hostname n1'] },
  },
  {
    name: 'a node with an external cloud provider keeps the addresses that the provider has set',
    external: true,
    nodeIP: '192.0.2.7',
    existing: [{ type: 'ExternalIP', address: '203.0.113.1' }],
    want: { providedNodeIP: '192.0.2.7' },
  },
  {
    name: 'a node with an external cloud provider starts with the address of --node-ip',
    external: true,
    nodeIP: '192.0.2.7,2001:db8::7',
    want: { providedNodeIP: '192.0.2.7,2001:db8::7', addresses: ['InternalIP 192.0.2.7', 'InternalIP 2001:db8::7', 'Hostname n1'] },
  },
  {
    name: 'a node with an external cloud provider and an unspecified --node-ip starts with the address of the default route',
    external: true,
    nodeIP: '0.0.0.0',
    want: { providedNodeIP: null, addresses: ['InternalIP 192.0.2.7', 'Hostname n1'] },
  },
];
table('the addresses of a node are configured or detected', (row) => {
  for (const { name, nodeIP = '', hostname = 'n1', external = false, existing, resolved = [], want } of cases) {
    row(name, () => {
      const { addresses, ...rest } = computeAddresses(existing ? { addresses: existing } : undefined, {
        nodeName: 'n1',
        hostname,
        nodeIPs: parseNodeIPs(nodeIP).ips,
        externalCloudProvider: external,
        network: { ...network, resolved },
      });
      assert.deepEqual({ ...rest, ...(addresses ? { addresses: addresses.map(({ type, address }) => `${type} ${address}`) } : {}) }, want);
    });
  }
});

test('a host without a default route has no address', () => {
  const bare = { interfaces: [aHostInterface('docker0', ['172.17.0.1'])], routes: { ipv4: 'Iface\n', ipv6: null }, resolved: [] };
  const computed = computeAddresses(undefined, {
    nodeName: 'n1',
    hostname: 'n1',
    nodeIPs: [],
    externalCloudProvider: false,
    network: bare,
  });
  assert.deepEqual(computed, {
    providedNodeIP: null,
    problem: `can't get ip address of node n1. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
  });
  assert.deepEqual(localHostIPs({ hostname: 'n1', nodeIPs: [], network: bare }), []);
});

test('pods on the host network get internal before external addresses, one per family', () => {
  const of = (type: string, address: string) => ({ type, address });
  const all = [
    of('Hostname', 'n1'),
    of('ExternalIP', '203.0.113.1'),
    of('InternalIP', '10.0.0.1'),
    of('InternalIP', '10.0.0.2'),
    of('ExternalIP', 'fd00::1'),
  ];
  assert.deepEqual(nodeHostIPs(all), ['10.0.0.1', 'fd00::1']);
  assert.deepEqual(nodeHostIPs([of('Hostname', 'n1')]), []);
});

test('pods of a node without addresses get those of --node-ip, the name’s, or the default route’s', () => {
  const of = (nodeIP: string, hostname: string, resolved: string[] = []) =>
    localHostIPs({ hostname, nodeIPs: parseNodeIPs(nodeIP).ips, network: { ...network, resolved } });
  assert.deepEqual(of('203.0.113.1,2001:db8::1', 'n1'), ['203.0.113.1', '2001:db8::1']);
  assert.deepEqual(of('', '203.0.113.5'), ['203.0.113.5']);
  assert.deepEqual(of('', 'n1', ['198.51.100.1']), ['198.51.100.1']);
  assert.deepEqual(of('::', 'n1'), ['2001:db8::7']);
});
