import assert from 'node:assert/strict';
import { parseIP } from '../../../../../src/main/node/addresses/ip-address.ts';
import { nodeIPProblem, parseNodeIPs } from '../../../../../src/main/node/addresses/node-ips.ts';
import { aHostInterface } from '../../../../support/pods/host-interface.ts';
import { table } from '../../../../support/table.ts';

const addresses: { text: string; want: string | undefined; family?: string }[] = [
  { text: ' 10.0.0.1 ', want: '10.0.0.1', family: 'IPv4' },
  { text: '010.000.0.01', want: '10.0.0.1', family: 'IPv4' },
  { text: '2001:DB8:0:0::0007', want: '2001:db8::7', family: 'IPv6' },
  { text: '::ffff:10.0.0.1', want: '10.0.0.1', family: 'IPv4' },
  { text: 'fe80::1%eth0', want: undefined },
  { text: '10.0.0', want: undefined },
  { text: '', want: undefined },
];
table('an address is parsed strictly', (row) => {
  for (const { text, want, family } of addresses) {
    row(`an address written "${text}" is ${want ?? 'none'}`, () => {
      assert.deepEqual(parseIP(text), want === undefined ? null : { text: want, family });
    });
  }
});

const flags: { name: string; nodeIP: string; want?: string[]; invalid?: string[]; error?: RegExp }[] = [
  { name: 'an empty --node-ip has no addresses', nodeIP: '', want: [] },
  { name: '--node-ip may have one address per family', nodeIP: '10.0.0.1, fd00::1', want: ['10.0.0.1', 'fd00::1'] },
  { name: 'an invalid part is reported and ignored', nodeIP: 'eth0,10.0.0.1', want: ['10.0.0.1'], invalid: ['eth0'] },
  { name: 'an unspecified address selects the family', nodeIP: '::', want: ['::'] },
  { name: 'two addresses of one family are rejected', nodeIP: '10.0.0.1,10.0.0.2', error: /single IP or a dual-stack pair/ },
  { name: 'three addresses are rejected', nodeIP: '10.0.0.1,fd00::1,fd00::2', error: /single IP or a dual-stack pair/ },
  {
    name: 'a pair may not contain an unspecified address',
    nodeIP: '0.0.0.0,fd00::1',
    error: /dual-stack node IP cannot include '0.0.0.0' or '::'/,
  },
];
table('--node-ip is one address, or one per family', (row) => {
  for (const { name, nodeIP, want = [], invalid = [], error } of flags) {
    row(name, () => {
      if (error) return assert.throws(() => parseNodeIPs(nodeIP), error);
      const parsed = parseNodeIPs(nodeIP);
      assert.deepEqual({ ips: parsed.ips.map(({ text }) => text), invalid: parsed.invalid }, { ips: want, invalid });
    });
  }
});

const interfaces = [aHostInterface('eth0', ['10.0.0.1', '2001:db8::7'])];
const checked: { ip: string; want?: RegExp }[] = [
  { ip: '10.0.0.1' },
  { ip: '2001:db8:0::7' },
  { ip: '10.0.0.2', want: /"10.0.0.2" not found in the host's network interfaces/ },
  { ip: '127.0.0.1', want: /loopback/ },
  { ip: '224.0.0.1', want: /multicast/ },
  { ip: '169.254.0.1', want: /link-local/ },
  { ip: 'fe80::1', want: /link-local/ },
  { ip: '0.0.0.0', want: /all zeros/ },
];
table('addresses are checked as node addresses', (row) => {
  for (const { ip, want } of checked) {
    row(`${ip} ${want ? "can't" : 'can'} be the address of a node`, () => {
      const problem = nodeIPProblem(parseIP(ip)!, interfaces);
      if (want) assert.match(problem ?? '', want);
      else assert.equal(problem, undefined);
    });
  }
});
