/** Decodes Prometheus' protobuf format strictly: a field that client_model's metrics.proto does not have is an error. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { Metric } from './prometheus.ts';

export interface NativeHistogram {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  /** The count of each bucket of positive values, by its index. */
  readonly positive: ReadonlyMap<number, number>;
  readonly negative: ReadonlyMap<number, number>;
}
export interface DecodedMetric {
  readonly type: Metric['type'];
  readonly help: string;
  readonly samples: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
    readonly count?: number;
    readonly timestampMs: number | undefined;
    readonly createdAtMs: number | undefined;
    readonly native: NativeHistogram | undefined;
  }[];
}
type Value = number | string | Message;
type Message = Map<number, Value[]>;

/** A message's fields: `s` string, `u` unsigned, `z` zigzag, `d` double, or a message. */
interface Shape {
  readonly [field: number]: 's' | 'u' | 'z' | 'd' | Shape;
}
const timestamp: Shape = { 1: 'u', 2: 'u' };
const span: Shape = { 1: 'z', 2: 'u' };
const histogram: Shape = {
  1: 'u',
  2: 'd',
  3: { 1: 'u', 2: 'd' },
  5: 'z',
  6: 'd',
  7: 'u',
  9: span,
  10: 'z',
  12: span,
  13: 'z',
  15: timestamp,
};
const metric: Shape = { 1: { 1: 's', 2: 's' }, 2: { 1: 'd' }, 3: { 1: 'd', 3: timestamp }, 6: 'u', 7: histogram };
const family: Shape = { 1: 's', 2: 's', 3: 'u', 4: metric };
const types: Readonly<Record<number, Metric['type']>> = { 0: 'counter', 1: 'gauge', 4: 'histogram' };
const valueFields = { counter: 3, gauge: 2, histogram: 7 };

export function decodeMetrics(bytes: Uint8Array): Map<string, DecodedMetric> {
  const reader = new BinaryReader(bytes);
  const metrics = new Map<string, DecodedMetric>();
  while (reader.pos < reader.len) {
    const end = reader.uint32() + reader.pos;
    const message = decode(reader, end, family);
    const name = one<string>(message, 1)!;
    const type = types[one<number>(message, 3)!]!;
    if (metrics.has(name)) throw new Error(`${name} is there twice`);
    metrics.set(name, { type, help: one<string>(message, 2)!, samples: all<Message>(message, 4).map((each) => toSample(each, type)) });
  }
  return metrics;
}

function toSample(message: Message, type: Metric['type']): DecodedMetric['samples'][number] {
  const labels = Object.fromEntries(all<Message>(message, 1).map((pair) => [one<string>(pair, 1)!, one<string>(pair, 2)!]));
  const value = one<Message>(message, valueFields[type])!;
  const isHistogram = type === 'histogram';
  const created = one<Message>(value, isHistogram ? 15 : 3);
  return {
    labels,
    value: one<number>(value, isHistogram ? 2 : 1)!,
    ...(isHistogram && { count: one<number>(value, 1)! }),
    timestampMs: one<number>(message, 6),
    createdAtMs: created && one<number>(created, 1)! * 1000 + (one<number>(created, 2) ?? 0) / 1e6,
    native: isHistogram && one(value, 5) !== undefined ? toNative(value) : undefined,
  };
}

function toNative(value: Message): NativeHistogram {
  const [schema, zeroThreshold, zeroCount] = [5, 6, 7].map((field) => one<number>(value, field)!) as [number, number, number];
  return { schema, zeroThreshold, zeroCount, negative: toBuckets(value, 9, 10), positive: toBuckets(value, 12, 13) };
}

function toBuckets(value: Message, spanField: number, deltaField: number): Map<number, number> {
  const deltas = all<number>(value, deltaField).values();
  const buckets = new Map<number, number>();
  let [index, count] = [0, 0];
  for (const each of all<Message>(value, spanField)) {
    index += one<number>(each, 1)!;
    for (let i = 0; i < one<number>(each, 2)!; i += 1, index += 1) buckets.set(index, (count += deltas.next().value!));
  }
  return buckets;
}

function decode(reader: BinaryReader, end: number, shape: Shape): Message {
  const message: Message = new Map();
  while (reader.pos < end) {
    const [field] = reader.tag();
    const kind = shape[field];
    if (kind === undefined) throw new Error(`a message has the field ${field}`);
    message.set(field, [...(message.get(field) ?? []), read(reader, kind)]);
  }
  return message;
}

function read(reader: BinaryReader, kind: Shape[number]): Value {
  if (typeof kind !== 'string') return decode(reader, reader.uint32() + reader.pos, kind);
  if (kind === 's') return reader.string();
  if (kind === 'd') return reader.double();
  return Number(kind === 'u' ? reader.uint64() : reader.sint64());
}

function all<T extends Value>(message: Message, field: number): T[] {
  return (message.get(field) ?? []) as T[];
}
function one<T extends Value>(message: Message, field: number): T | undefined {
  return all<T>(message, field)[0];
}
