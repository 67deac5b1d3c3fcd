/**
 * Prometheus' protobuf format: each family is an `io.prometheus.client.MetricFamily` with its length before it. All field numbers and types
 * are those of client_model's metrics.proto.
 */
import { zeroThreshold } from '../native/bucket-key.ts';
import type { NativeBuckets } from '../native/native-buckets.ts';
import type { HistogramValue, MetricFamily, Sample } from './metric-family.ts';
import { ProtobufWriter, varintBytes } from './protobuf-writer.ts';

const family = { name: 1, help: 2, type: 3, metric: 4 };
const types = { counter: 0, gauge: 1, histogram: 4 } as const;
const metric = { gauge: 2, counter: 3, timestampMs: 6, histogram: 7 };
/** Of Counter and of Gauge, which has no `createdAt`. */
const number = { value: 1, createdAt: 3 };
const histogram = {
  count: 1,
  sum: 2,
  bucket: 3,
  schema: 5,
  zeroThreshold: 6,
  zeroCount: 7,
  negative: { span: 9, delta: 10 },
  positive: { span: 12, delta: 13 },
  createdAt: 15,
};

const bucketField = { cumulativeCount: 1, upperBound: 2 };
const spanField = { offset: 1, length: 2 };
const timestampField = { seconds: 1, nanos: 2 };

const samplesPerEmptyPiece = 200;
const emptyPiece = new Uint8Array();

/**
 * Yields each family's length and then the family as one piece, because the length must be known first. While a long family is made, yields empty pieces, so
 * that the caller can serve other requests. @param native with native histograms
 */
export function* encodeProtobuf(families: Iterable<MetricFamily>, native: boolean): Generator<Uint8Array> {
  const encoder = new SampleEncoder(native);
  for (const { name, help, type, samples } of families) {
    const content = new ProtobufWriter(4096);
    content.string(family.name, name);
    content.string(family.help, help);
    content.uint(family.type, types[type]);
    let count = 0;
    for (const sample of samples) {
      encoder.append(content, type, sample);
      count += 1;
      if (count % samplesPerEmptyPiece === 0) yield emptyPiece;
    }
    if (count === 0) continue;
    const length = new ProtobufWriter(8);
    length.size(content.length);
    yield length.finish();
    yield content.finish();
  }
}

/** A Counter or Gauge with its value only: the tag, and a double. */
const numberBytes = 9;

/** Writes a sample with one number, as nearly all samples of the long pages are, without an intermediate buffer. */
function appendNumber(content: ProtobufWriter, field: number, labels: Uint8Array, value: number, timestampMs: number | undefined): void {
  const timestamp = timestampMs === undefined ? undefined : Math.trunc(timestampMs);
  // The 2: tag and length of the Counter or Gauge. The 1: the tag of the timestamp.
  content.open(family.metric, labels.length + 2 + numberBytes + (timestamp === undefined ? 0 : 1 + varintBytes(timestamp)));
  content.raw(labels);
  content.open(field, numberBytes);
  content.double(number.value, value);
  if (timestamp !== undefined) content.uint(metric.timestampMs, timestamp);
}

/** Encodes single samples. Its three buffers are used again for each sample. */
class SampleEncoder {
  readonly #native: boolean;
  readonly #value = new ProtobufWriter(1024);
  readonly #part = new ProtobufWriter(64);
  readonly #metric = new ProtobufWriter(1024);

  constructor(native: boolean) {
    this.#native = native;
  }

  append(content: ProtobufWriter, type: MetricFamily['type'], sample: Sample): void {
    const { labels, value, timestampMs, createdAtMs } = sample;
    if (typeof value === 'number' && (createdAtMs === undefined || type === 'gauge')) {
      appendNumber(content, type === 'counter' ? metric.counter : metric.gauge, labels.bytes, value, timestampMs);
      return;
    }
    this.#value.clear();
    if (typeof value === 'number') this.#value.double(number.value, value);
    else this.#histogram(value);
    if (createdAtMs !== undefined) {
      this.#timestamp(type === 'histogram' ? histogram.createdAt : number.createdAt, createdAtMs);
    }
    this.#metric.clear();
    this.#metric.raw(labels.bytes);
    this.#metric.message(metric[type], this.#value);
    if (timestampMs !== undefined) this.#metric.uint(metric.timestampMs, Math.trunc(timestampMs));
    content.message(family.metric, this.#metric);
  }

  #histogram({ sum, bounds, counts, native }: HistogramValue): void {
    let total = 0;
    for (let i = 0; i <= bounds.length; i += 1) total += counts[i]!;
    this.#value.uint(histogram.count, total);
    this.#value.double(histogram.sum, sum);
    let cumulative = 0;
    for (const [i, bound] of bounds.entries()) {
      cumulative += counts[i]!;
      this.#part.clear();
      this.#part.uint(bucketField.cumulativeCount, cumulative);
      this.#part.double(bucketField.upperBound, bound);
      this.#value.message(histogram.bucket, this.#part);
    }
    if (this.#native && native) this.#nativeHistogram(native);
  }

  #nativeHistogram(native: NativeBuckets): void {
    this.#value.sint(histogram.schema, native.schema);
    this.#value.double(histogram.zeroThreshold, zeroThreshold);
    this.#value.uint(histogram.zeroCount, native.zeroCount);
    const sorted = [...native.counts].sort(([a], [b]) => a - b);
    // The lowest bit of a bucket's key is 1 for negative values, the other bits are its index (bucketKey).
    for (const [signBit, fields] of [[1, histogram.negative] as const, [0, histogram.positive] as const]) {
      const { spans, deltas } = toSpans(sorted.filter(([key]) => (key & 1) === signBit).map(([key, count]) => [key >> 1, count]));
      for (const { offset, length } of spans) {
        this.#part.clear();
        this.#part.sint(spanField.offset, offset);
        this.#part.uint(spanField.length, length);
        this.#value.message(fields.span, this.#part);
      }
      for (const delta of deltas) this.#value.sint(fields.delta, delta);
    }
  }

  /** google.protobuf.Timestamp */
  #timestamp(field: number, ms: number): void {
    this.#part.clear();
    this.#part.uint(timestampField.seconds, Math.trunc(ms / 1000));
    this.#part.uint(timestampField.nanos, Math.trunc(ms % 1000) * 1_000_000);
    this.#value.message(field, this.#part);
  }
}

interface Span {
  /** The number of empty buckets since the end of the span before; for the first span, the index of its first bucket. */
  readonly offset: number;
  length: number;
}

/**
 * Converts counts to runs of adjacent buckets (spans), and to the difference of each count from the one before (deltas). A gap of one or two buckets is filled
 * with empty buckets; after a longer gap a new span begins. Upstream: makeBuckets of histogram.go.
 * @param buckets indexes with counts, ascending
 */
export function toSpans(buckets: readonly (readonly [number, number])[]): {
  readonly spans: readonly Span[];
  readonly deltas: readonly number[];
} {
  const spans: Span[] = [];
  const deltas: number[] = [];
  let [previousCount, next] = [0, 0];
  const append = (count: number) => {
    spans.at(-1)!.length += 1;
    deltas.push(count - previousCount);
    previousCount = count;
  };
  for (const [index, count] of buckets) {
    const gap = index - next;
    if (spans.length === 0 || gap > 2) spans.push({ offset: gap, length: 0 });
    else for (let i = 0; i < gap; i += 1) append(0);
    append(count);
    next = index + 1;
  }
  return { spans, deltas };
}
