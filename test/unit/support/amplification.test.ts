import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conform } from '../../../src/shared/kubernetes/schema/conform.ts';
import { pod } from '../../../src/shared/kubernetes/schema/pod.ts';
import { missedBounds, percentile, renderCosts, worstFields, type BatchSample } from '../../support/amplification/bounds.ts';
import { growingFields, largeText, nameOf } from '../../support/amplification/fields.ts';
import { sampleFields } from '../../support/amplification/sample.ts';
import { syncThreadSizes, watchSyncThreads } from '../../support/amplification/sync-threads.ts';
import { podWithLargeField } from '../../support/amplification/pods.ts';
import { bisect, largestAdmitted, toBatches } from '../../support/amplification/search.ts';
import { protobufPod } from '../../support/cluster/protobuf-pod.ts';
import { table } from '../../support/table.ts';

test('the fields that may grow are those of the schema', () => {
  const names = growingFields().map(nameOf);
  for (const name of [
    'metadata.annotations many',
    'metadata.annotations{} long',
    'spec.containers[].args many',
    'spec.containers[].args[] long',
    'spec.containers[].lifecycle.preStop.exec.command[] long',
    'spec.volumes many',
    'spec.volumes[].nfs.server long',
  ])
    assert.ok(names.includes(name), name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(!names.includes('metadata.uid long'));
});

table('each field that may grow is in a pod of the right types', (row) => {
  for (const field of growingFields()) {
    row(nameOf(field), () => {
      const made = podWithLargeField('p', 'node', field, 1600, '<');
      assert.equal(conform(pod, made).problem, null);
      assert.ok(protobufPod(made).length >= (field.growth === 'long' ? 1600 : 100));
      const text = JSON.stringify(made);
      if (field.growth === 'long') assert.ok(text.includes('<'.repeat(1600)));
      else assert.ok((text.match(/[[{,]/g) ?? []).length >= 100, text);
    });
  }
});

test('a large text has the bytes of its characters', () => {
  assert.deepEqual([Buffer.byteLength(largeText(300, '\u2028')), largeText(4, '<'), largeText(0, 'a')], [300, '<<<<', 'a']);
});

const limits: readonly [limit: number, found: number, tries: number][] = [
  [5000, 1000, 5],
  [1000, 1000, 5],
  [5, 0, 1],
];
table('the largest size that is admitted', (row) => {
  for (const [limit, found, tries] of limits) {
    row(`a limit of ${limit}`, async () => {
      let count = 0;
      const size = await largestAdmitted(1000, 10, (bytes) => {
        count += 1;
        return Promise.resolve(bytes <= limit);
      });
      assert.deepEqual([size, count], [found, tries]);
    });
  }
  row('a limit between', async () => {
    const size = await largestAdmitted(1_500_000, 16, (bytes) => Promise.resolve(bytes <= 4096));
    assert.ok(size <= 4096 && size >= 3840, String(size));
  });
});

test('batches hold each item once, and neighbours apart', () => {
  assert.deepEqual(toBatches([1, 2, 3, 4, 5], 2), [[1, 4], [2, 5], [3]]);
  assert.deepEqual(toBatches([], 2), []);
});

const cases: readonly [name: string, bad: (items: readonly number[]) => boolean, found: readonly (readonly number[])[]][] = [
  ['nothing', () => false, []],
  ['one item', (items) => items.includes(3), [[3]]],
  ['two items', (items) => items.includes(1) || items.includes(8), [[1], [8]]],
  [
    'a sum',
    (items) => items.length >= 4,
    [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ],
  ],
];
table('a batch that misses a bound is bisected to', (row) => {
  for (const [name, bad, found] of cases) {
    row(name, async () => {
      const parts = await bisect([1, 2, 3, 4, 5, 6, 7, 8], (items) => Promise.resolve(bad(items) ? ['it'] : []));
      assert.deepEqual(
        parts.map(({ items }) => items),
        found,
      );
    });
  }
});

const mebibyte = 1024 * 1024;
const good: BatchSample = {
  pods: 2,
  podBytes: mebibyte,
  syncThreadBytes: 64 * mebibyte,
  sameProcess: true,
  threadDeaths: 0,
  healthzMs: [1, 2, 3],
  unhealthy: null,
  smallPodStartMs: [900, 400],
  before: { healthzMs: [1, 1], smallPodStartMs: 300 },
  cpuSeconds: 1.25,
  rssBeforeBytes: 200 * mebibyte,
  rssPeakBytes: 272 * mebibyte,
  rssAfterBytes: 216 * mebibyte,
  stayedReady: true,
  allDeleted: true,
};
const samples: readonly [change: Partial<BatchSample>, missed: readonly string[]][] = [
  [{}, []],
  [{ sameProcess: false }, ['the process ended']],
  [{ unhealthy: 'relist' }, ['healthz failed: relist']],
  [{ threadDeaths: 2 }, ['2 threads ended']],
  [{ healthzMs: [1, 101] }, ['healthz took 101 ms (p99)']],
  [{ smallPodStartMs: [500, 2001] }, ['a small pod started in 2001 ms']],
  [{ healthzMs: [390], smallPodStartMs: [2600], before: { healthzMs: [200], smallPodStartMs: 1300 } }, []],
  [{ rssPeakBytes: 273 * mebibyte }, ['memory grew by 73.0 MiB']],
  [{ rssAfterBytes: 217 * mebibyte }, ['17.0 MiB were kept']],
  [{ syncThreadBytes: 66 * mebibyte }, ['a sync thread grew by 66.0 MiB']],
  [{ stayedReady: false, allDeleted: false }, ['the node was not Ready', 'a pod could not be deleted']],
];
table('the bounds of a batch', (row) => {
  for (const [change, missed] of samples)
    row(Object.keys(change).join() || 'all kept', () => assert.deepEqual(missedBounds({ ...good, ...change }), missed));
});

test('the worst fields are those with the most memory for a byte', () => {
  const cheap = { field: 'cheap', sample: { ...good, podBytes: 10 * mebibyte } };
  const costly = { field: 'costly', sample: good };
  assert.deepEqual(worstFields([cheap, costly], 1), [costly]);
  assert.equal(renderCosts([costly]).split('\n')[2], '| `costly` | 1.0 | 72.0 | 16.0 | 64.0 | 3, 3 | 300, 900, 400 | 1.3 | none |');
});

test('a percentile is one of the values', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  assert.deepEqual([percentile(hundred, 0.99), percentile([7], 0.99), percentile([], 0.99)], [99, 7, NaN]);
});

test('the size of a sync thread is its heap and what is outside of it', () => {
  const metrics = [
    'kubelet_thread_heap_used_bytes{thread="pod-sync-1"} 1e+07',
    'kubelet_thread_external_bytes{thread="pod-sync-1"} 5',
    'kubelet_thread_external_bytes{thread="main"} 7',
  ].join('\n');
  assert.deepEqual([...syncThreadSizes(metrics)], [['pod-sync-1', 10_000_005]]);
});

test('a watch of the sync threads fails when they publish nothing', async () => {
  const page = (bytes: number) => Promise.resolve(`kubelet_thread_heap_used_bytes{thread="pod-sync-0"} ${bytes}\n`);
  assert.equal(await watchSyncThreads(() => page(5))(), 0);
  await assert.rejects(watchSyncThreads(() => Promise.resolve(''))(), /no metrics/);
});

test('the fields of the sample exist', () => assert.equal(sampleFields().length, 10));
