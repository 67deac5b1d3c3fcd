import assert from 'node:assert/strict';
import { waitFlags } from '../../../../src/main/network-chains/wait-flags.ts';
import { table } from '../../../support/table.ts';

const cases: [output: string, flags: string[]][] = [
  ['iptables v1.8.9 (nf_tables)', ['-w', '5']],
  ['iptables v1.8.9 (legacy)\n', ['-w', '5']],
  ['ip6tables v1.4.22', ['-w', '5']],
  ['iptables v1.4.21', ['-w']],
  ['iptables v1.4.20.1', ['-w']],
  ['iptables v1.4.19.1', []],
  ['iptables v2.0', ['-w', '5']],
  ['iptables v1.10.0', ['-w', '5']],
  ['iptables', []],
  ['', []],
];

table('a command waits for the lock with the flags that its version has', (row) => {
  for (const [output, flags] of cases) row(JSON.stringify(output), () => assert.deepEqual(waitFlags(output), flags));
});
