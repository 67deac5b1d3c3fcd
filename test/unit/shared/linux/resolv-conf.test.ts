import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResolvConf } from '../../../../src/shared/linux/resolv-conf.ts';
import { table } from '../../../support/table.ts';

const files: readonly [name: string, text: string, want: [string[], string[], string[]]][] = [
  ['an empty file', '', [[], [], []]],
  ['nameservers accumulate', 'nameserver 1.2.3.4\n  nameserver\t5.6.7.8  \n', [['1.2.3.4', '5.6.7.8'], [], []]],
  ['the last search line wins, and trailing dots are removed', 'search a.b\nsearch c.d. . e\n', [[], ['c.d', 'e'], []]],
  ['the last value of an option wins', 'options ndots:1 debug\noptions ndots:4\n', [[], [], ['ndots:4', 'debug']]],
  ['comments and other lines are ignored', '# nameserver 1.1.1.1\n; x\ndomain y\nsearch\n', [[], [], []]],
  ['an IPv6 address with its zone', 'nameserver fe80::1%eth0', [['fe80::1%eth0'], [], []]],
];
table('resolv.conf', (row) => {
  for (const [name, text, want] of files) {
    row(`resolv.conf: ${name}`, () => {
      const { servers, searches, options } = parseResolvConf(text);
      assert.deepEqual([servers, searches, options], want);
    });
  }
});
test('resolv.conf: a nameserver without an address is an error', () => {
  assert.throws(() => parseResolvConf('nameserver\n'), /nameserver list is empty/);
});
