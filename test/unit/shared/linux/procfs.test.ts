import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  countProcessors,
  parseBootTime,
  parseMaxAddressSpace,
  parseMaxOpenFiles,
  parseNetstat,
  parseMeminfo,
  parseOsRelease,
  parseProcessStat,
} from '../../../../src/shared/linux/procfs.ts';

test('meminfo is parsed in bytes, and counts as they are', () => {
  const info = parseMeminfo('MemTotal:       24660000 kB\nSwapTotal:             0 kB\nHugePages_Total:       3\nNonsense\n');
  assert.deepEqual(
    [...info],
    [
      ['MemTotal', 24660000 * 1024],
      ['SwapTotal', 0],
      ['HugePages_Total', 3],
    ],
  );
});

test('the stat of a process is parsed when its name contains spaces and parentheses', () => {
  const fields = Array.from({ length: 30 }, (_, i) => String(i + 3)).join(' ');
  assert.deepEqual(parseProcessStat(`12 (a) b (c) ${fields}\n`), { threads: 20, startTicks: 22, virtualMemoryBytes: 23 });
});

test('boot time, processors and open file limits are parsed', () => {
  assert.equal(parseBootTime('cpu 1 2\nbtime 1763720000\nprocesses 5\n'), 1763720000);
  assert.equal(countProcessors('processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\n'), 2);
  assert.equal(countProcessors('vendor_id : IBM/S390\n# processors : 2\nprocessor 0: version = FF\nprocessor 1: version = FF\n'), 2);
  assert.equal(
    parseMaxOpenFiles('Limit  Soft Limit  Hard Limit Units\nMax open files            1024                 524288               files\n'),
    1024,
  );
  assert.equal(parseMaxOpenFiles('Max open files            unlimited   unlimited   files\n'), Infinity);
});

test('os-release is parsed with and without quotes', () => {
  assert.deepEqual(
    [...parseOsRelease('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n# a comment\n')],
    [
      ['PRETTY_NAME', 'Debian GNU/Linux 12 (bookworm)'],
      ['ID', 'debian'],
    ],
  );
});

test('the limit of the address space is read from limits', () => {
  assert.equal(parseMaxAddressSpace('Max address space         unlimited            unlimited            bytes\n'), Infinity);
  assert.equal(parseMaxAddressSpace('Max address space         4096                 unlimited            bytes\n'), 4096);
});

test('a value of netstat is below its name; a missing one is 0', () => {
  const text = 'TcpExt: SyncookiesSent Foo\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 3 400 500\n';
  const of = (name: string) => parseNetstat(text, 'IpExt', name);
  assert.deepEqual([of('InOctets'), of('OutOctets'), of('Other'), parseNetstat('', 'IpExt', 'InOctets')], [400, 500, 0, 0]);
});
