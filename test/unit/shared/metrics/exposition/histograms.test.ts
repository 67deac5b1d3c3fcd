/** Histograms in the protobuf format, byte by byte as Prometheus' client library writes them with the kubelet's options. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { toBytes } from '../../../../../src/shared/metrics/exposition/encode.ts';
import { labelsOf } from '../../../../../src/shared/metrics/exposition/labels.ts';
import { encodeProtobuf } from '../../../../../src/shared/metrics/exposition/protobuf.ts';
import { collectMetrics, createMetricsSegment, defaultBuckets, histogram } from '../../../../../src/shared/metrics/index.ts';
import { bindMetrics } from '../../../../../src/shared/metrics/define.ts';
import { NativeBuckets } from '../../../../../src/shared/metrics/native/native-buckets.ts';

interface Vector {
  readonly name: string;
  readonly values: readonly string[];
  readonly bytes: string;
}
const vectors = readFileSync(new URL('histogram-vectors.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);
const createdAtMs = 1_700_000_000_123;
const head = { name: 'latency_seconds', help: 'Latency\nin "seconds".', type: 'histogram' } as const;
const toNumber = (value: string) => Number(value.replace('Inf', 'Infinity'));

describe('a histogram is written as by the Go library', () => {
  for (const { name, values, bytes } of vectors) {
    const numbers = values.map(toNumber);
    const want = Buffer.from(bytes, 'base64').toString('hex');

    test(`in memory: ${name}`, () => {
      const counts = new Float64Array(defaultBuckets.length + 1);
      const native = new NativeBuckets();
      for (const value of numbers) {
        const bucket = defaultBuckets.findIndex((bound) => value <= bound);
        counts[bucket < 0 ? defaultBuckets.length : bucket]! += 1;
        native.observe(value);
      }
      const sum = numbers.reduce((total, value) => total + value, 0);
      const value = { sum, bounds: defaultBuckets, counts, native };
      const samples = [{ labels: labelsOf({ operation: 'a"\\é' }), value, createdAtMs }];
      assert.equal(Buffer.from(toBytes(encodeProtobuf([{ ...head, samples }], true))).toString('hex'), want);
    });

    test(`in shared memory: ${name}`, () => {
      const latency = histogram(head.name, head.help, ['operation'], defaultBuckets, 'none');
      const segment = createMetricsSegment();
      bindMetrics(segment);
      for (const value of numbers) latency.observe(value, { operation: 'a"\\é' });
      bindMetrics(null);
      if (numbers.length === 0) return;
      const families = collectMetrics([segment], [latency]).map((family) => ({
        ...family,
        samples: [...family.samples].map((sample) => ({ ...sample, createdAtMs })),
      }));
      assert.equal(Buffer.from(toBytes(encodeProtobuf(families, true))).toString('hex'), want);
    });
  }
});
