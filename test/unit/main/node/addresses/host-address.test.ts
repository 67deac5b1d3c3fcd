import assert from 'node:assert/strict';
import { hostAddress, type RouteFiles } from '../../../../../src/main/node/addresses/host-address.ts';
import type { HostInterface } from '../../../../../src/main/node/addresses/host-interfaces.ts';
import { aHostInterface } from '../../../../support/pods/host-interface.ts';
import { table } from '../../../../support/table.ts';

const header = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
const subnet = 'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n';
const v4 = (...names: string[]) =>
  header + subnet + names.map((name) => `${name}\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`).join('');
const zero = '0'.repeat(32);
const unreachable = `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo\n`;
const v6 = (...names: string[]) =>
  unreachable + names.map((name) => `${zero} 00 ${zero} 00 fe80${'1'.repeat(28)} 00000400 1 0 00000003     ${name}\n`).join('');

const lo = aHostInterface('lo', ['127.0.0.1', '::1']);
const docker0 = aHostInterface('docker0', ['172.17.0.1', 'fd17::1']);
const eth0 = aHostInterface('eth0', ['169.254.1.1', '192.0.2.7', 'fe80::1', '2001:db8::7']);
const eth1 = aHostInterface('eth1', ['198.51.100.1']);
const all = [lo, docker0, eth0, eth1];

const noRoute = 'no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"';
const noAddress = 'unable to select an IP from default routes.';
const cases: {
  name: string;
  preferred?: 'IPv4' | 'IPv6';
  interfaces?: HostInterface[];
  routes: RouteFiles;
  want: string | { problem: string };
}[] = [
  { name: 'of the first default route’s interface', routes: { ipv4: v4('eth0', 'eth1'), ipv6: v6('eth0') }, want: '192.0.2.7' },
  { name: 'of the kernel’s order of the routes', routes: { ipv4: v4('eth1', 'eth0'), ipv6: null }, want: '198.51.100.1' },
  { name: 'of the preferred family', preferred: 'IPv6', routes: { ipv4: v4('eth0'), ipv6: v6('eth0') }, want: '2001:db8::7' },
  {
    name: 'of the other family without a route of the preferred one',
    preferred: 'IPv6',
    routes: { ipv4: v4('eth0'), ipv6: unreachable },
    want: '192.0.2.7',
  },
  { name: 'of IPv6 on a host without an IPv4 route', routes: { ipv4: v4(), ipv6: v6('eth0') }, want: '2001:db8::7' },
  {
    name: 'of the next route when an interface is down',
    interfaces: [lo, docker0, { ...eth0, isUp: false }, eth1],
    routes: { ipv4: v4('eth0', 'eth1'), ipv6: null },
    want: '198.51.100.1',
  },
  {
    name: 'of the loopback interface when the route’s interface has link-local ones only',
    interfaces: [aHostInterface('lo', ['127.0.0.1', '203.0.113.1']), docker0, aHostInterface('eth0', ['169.254.1.1']), eth1],
    routes: { ipv4: v4('eth0', 'eth1'), ipv6: null },
    want: '203.0.113.1',
  },
  { name: 'none without a default route', routes: { ipv4: v4(), ipv6: unreachable }, want: { problem: noRoute } },
  { name: 'none without a readable route', routes: { ipv4: '', ipv6: null }, want: { problem: noRoute } },
  {
    name: 'none when no route’s interface has one',
    interfaces: [lo, docker0, aHostInterface('eth0', ['fe80::1'])],
    routes: { ipv4: v4('eth0', 'gone0'), ipv6: v6('eth0') },
    want: { problem: noAddress },
  },
  {
    name: 'of any interface where the host lists no routes',
    interfaces: [lo, aHostInterface('tun0', ['203.0.113.1'], { isPointToPoint: true }), { ...docker0, isUp: false }, eth1],
    routes: { ipv4: null, ipv6: null },
    want: '198.51.100.1',
  },
  {
    name: 'none where the host lists no routes and has no other interface',
    interfaces: [lo],
    routes: { ipv4: null, ipv6: null },
    want: { problem: 'no acceptable interface with global unicast address found on host' },
  },
  {
    name: 'none without interfaces',
    interfaces: [],
    routes: { ipv4: null, ipv6: null },
    want: { problem: 'no interfaces found on host.' },
  },
];
table('the address of a host is', (row) => {
  for (const { name, preferred = 'IPv4', interfaces = all, routes, want } of cases) {
    row(name, () => assert.deepEqual(hostAddress(preferred, interfaces, routes), typeof want === 'string' ? { address: want } : want));
  }
});
