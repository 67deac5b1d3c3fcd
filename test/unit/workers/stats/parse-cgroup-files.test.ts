import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeNanoCores } from '../../../../src/workers/stats/compute-nano-cores.ts';
import {
  parseBlkio,
  parseIoStat,
  parseNetDev,
  parsePressure,
  statValue,
  toBigInt,
  toBoundedJSON,
  toLimit,
} from '../../../../src/workers/stats/parse-cgroup-files.ts';
import { cgroupOfProcess } from '../../../../src/shared/cgroups/process-cgroup.ts';
import { table } from '../../../support/table.ts';

const statValueRows = [
  { text: 'cache 5\nrss 7\n', key: 'rss', want: 7 },
  { text: 'rss 7\n', key: 'rss', want: 7 },
  { text: 'total_rss 7\n', key: 'rss', want: 0 },
  { text: 'rss_huge 7\nrss 8', key: 'rss', want: 8 },
  { text: 'rss garbage\n', key: 'rss', want: 0 },
  { text: '', key: 'rss', want: 0 },
];
table('statValue', (row) => {
  for (const { text, key, want } of statValueRows)
    row(`${key} in ${JSON.stringify(text)}`, () => {
      assert.equal(statValue(text, key), want);
    });
});

const toLimitRows = [
  { text: 'max\n', want: Infinity },
  { text: '9223372036854771712\n', want: Infinity },
  { text: '4096\n', want: 4096 },
  { text: undefined, want: 0 },
  { text: 'garbage', want: 0 },
];
table('toLimit', (row) => {
  for (const { text, want } of toLimitRows)
    row(String(text), () => {
      assert.equal(toLimit(text), want);
    });
});

const toBigIntRows = [
  { text: '0\n', want: 0n },
  { text: '1000000000000000001\n', want: 1_000_000_000_000_000_001n },
  { text: '9223372036854775806\n', want: 2n ** 63n - 2n },
  { text: '18446744073709551615\n', want: 2n ** 63n - 1n },
  { text: '184467440737095516150\n', want: 0n },
  { text: 'garbage', want: 0n },
];
table('toBigInt', (row) => {
  for (const { text, want } of toBigIntRows) row(text, () => assert.equal(toBigInt(text), want));
});

test('a pressure file without the line for all tasks, as the kernel has it for cpu before 5.13', () => {
  const { some, full } = parsePressure('some avg10=12.50 avg60=3.00 avg300=1.01 total=9007199254\n');
  assert.deepEqual(some, { totalUs: 9_007_199_254, avg10: 12.5, avg60: 3, avg300: 1.01 });
  assert.deepEqual(full, { totalUs: 0, avg10: 0, avg60: 0, avg300: 0 });
});

test('io.stat with lines that cannot be parsed', () => {
  const text = '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16\n7:0 cost.usage=1\nnonsense\n';
  assert.deepEqual(parseIoStat(text), [{ device: '8:0', bytes: { Read: 1, Write: 2 }, operations: { Read: 3, Write: 4 } }]);
  assert.deepEqual(parseIoStat(undefined), []);
});

test('io.stat with the cost of I/O', () => {
  const text = '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0 cost.usage=5 cost.wait=6\n';
  assert.deepEqual(parseIoStat(text)[0]?.costUs, { usage: 5, wait: 6 });
});

test('blkio files with a device in one of them only', () => {
  const found = parseBlkio('8:0 Read 1\n8:0 Write 2\nTotal 3\n', '8:0 Read 4\n7:1 Write 5\nTotal 9\n');
  assert.deepEqual(found, [
    { device: '8:0', bytes: { Read: 1, Write: 2 }, operations: { Read: 4 } },
    { device: '7:1', bytes: {}, operations: { Write: 5 } },
  ]);
});

const netDevHead = 'Inter-|   Receive   |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes …\n';

test('interfaces are parsed, without loopback and the ends of other pods', () => {
  const line = (name: string) => `${name}: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n`;
  const found = parseNetDev(netDevHead + line('    lo') + line('veth12') + line('  eth0') + line('a:b'));
  const numbers = { rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4, txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 };
  assert.deepEqual(found, [
    { name: 'eth0', ...numbers },
    { name: 'a:b', ...numbers },
  ]);
  assert.deepEqual(parseNetDev(`${netDevHead}${line('eth0')}broken: 1 2\n`), []);
});

test('a list is cut where its room ends', () => {
  assert.equal(toBoundedJSON(['aaaa', 'bbbb', 'cccc'], 16), '["aaaa","bbbb"]');
  assert.equal(toBoundedJSON(['aaaa'], 4), '[]');
});

const computeNanoCoresRows = [
  { name: 'half a core', last: [0n, 1000], current: [5_000_000_000n, 11_000], want: 500_000_000 },
  { name: 'a clock that went back', last: [0n, 1000], current: [5n, 900], want: NaN },
  { name: 'a counter that went back', last: [9n, 1000], current: [5n, 1100], want: NaN },
] as const;
table('computeNanoCores', (row) => {
  for (const { name, last, current, want } of computeNanoCoresRows)
    row(name, () => {
      {
        const sample = ([cpuUsageNs, sampledAtMs]: readonly [bigint, number]) => ({ cpuUsageNs, sampledAtMs });
        assert.equal(computeNanoCores(sample(last), sample(current)), want);
      }
    });
});
test('nano cores are unknown after one sample', () =>
  assert.ok(Number.isNaN(computeNanoCores(undefined, { cpuUsageNs: 1n, sampledAtMs: 1 }))));

const cgroupOfProcessRows = [
  { name: 'v2', text: '0::/system.slice/kubelet.service\n', want: '/system.slice/kubelet.service' },
  { name: 'v1', text: '4:memory:/a\n3:cpu,cpuacct:/a\n', want: '/a' },
  {
    name: 'v1 with systemd and without accounting',
    text: '4:memory:/\n3:cpu,cpuacct:/\n1:name=systemd:/system.slice/kubelet.service\n',
    want: '/system.slice/kubelet.service',
  },
  { name: 'v1 with different paths', text: '4:memory:/a\n3:cpu,cpuacct:/b\n0::/\n', want: '' },
  { name: 'nothing', text: '', want: '' },
];
table('cgroupOfProcess', (row) => {
  for (const { name, text, want } of cgroupOfProcessRows)
    row(name, () => {
      assert.equal(cgroupOfProcess(text), want);
    });
});
