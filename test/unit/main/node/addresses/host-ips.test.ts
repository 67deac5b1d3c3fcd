import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { hostIPs } from '../../../../../src/main/node/addresses/host-ips.ts';
import { table } from '../../../../support/table.ts';

const ip = (address: string, internal = false) =>
  ({ address, family: address.includes(':') ? 'IPv6' : 'IPv4', internal }) as NetworkInterfaceInfo;
const header = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
const byDefault = (name: string, metric = 0) => `${name}\t00000000\t0102A8C0\t0003\t0\t0\t${metric}\t00000000\t0\t0\t0\n`;
const interfaces = {
  lo: [ip('127.0.0.1', true)],
  docker0: [ip('172.17.0.1')],
  eth0: [ip('fe80::1'), ip('192.0.2.7'), ip('2001:db8::7')],
};

const cases: { name: string; nodeIP?: string; routes: string; interfaces?: Parameters<typeof hostIPs>[1]; want: string[] }[] = [
  {
    name: 'the node has the address of the default route’s interface',
    routes: header + byDefault('eth0'),
    want: ['192.0.2.7'],
  },
  {
    name: 'the default route with the lowest metric is used',
    routes: header + byDefault('eth0', 200) + byDefault('docker0', 100),
    want: ['172.17.0.1'],
  },
  { name: 'a node without a default route has the first address that is not loopback', routes: header, want: ['172.17.0.1'] },
  {
    name: '--node-ip takes precedence over detected addresses',
    nodeIP: '10.0.0.1,fd00::1',
    routes: header + byDefault('eth0'),
    want: ['10.0.0.1', 'fd00::1'],
  },
  {
    name: 'the unspecified IPv6 address selects an IPv6 address',
    nodeIP: '::',
    routes: header + byDefault('eth0'),
    want: ['2001:db8::7'],
  },
  {
    name: 'a link-local address is not an address of the node',
    routes: header + byDefault('eth0'),
    interfaces: { eth0: [ip('fe80::1'), ip('169.254.1.1')] },
    want: [],
  },
];
table('the host IPs of a node', (row) => {
  for (const { name, nodeIP = '', routes, interfaces: given = interfaces, want } of cases) {
    row(name, () => assert.deepEqual(hostIPs(nodeIP, given, routes), want));
  }
});
