/**
 * Malformed replies of a runtime, derived from real ones: one field, one element, one submessage or the encoded bytes are replaced. fast-check
 * generates the mutations, so that a seed reproduces them.
 */
import { constant, constantFrom, nat, oneof, record, type Arbitrary } from 'fast-check';

/** Replaces the value at `pick`, counted over all values of the reply in order and taken modulo their number. */
export interface Mutation {
  readonly pick: number;
  /** Index into the hostile values of the value's type, modulo their number. */
  readonly value: number;
  /** Replaces the encoded reply as a whole; null leaves the bytes as they are. */
  readonly bytes: 'empty' | 'truncated' | 'garbage' | null;
}

export const mutations: Arbitrary<Mutation> = record({
  pick: nat(),
  value: nat(1000),
  bytes: oneof({ weight: 9, arbitrary: constant(null) }, constantFrom('empty' as const, 'truncated' as const, 'garbage' as const)),
});

const strings = [
  '',
  '\0',
  '../../../../etc/passwd',
  '/',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(70_000),
  'a\nb\r\nc',
  '\ud83d\ude00',
  '-1',
  'NaN',
  '{"a":',
  '10e39',
  '9'.repeat(400),
  '2026-13-45T99:99:99Z',
];
const integers = [-1, 0, 1, 999, 2 ** 31 - 1, -(2 ** 31)];
const longs = [-1n, 0n, 1n, 2n ** 63n - 1n, -(2n ** 63n), 253402300800000000000n % 2n ** 63n];
const reserved = ['__proto__', 'constructor', 'io.kubernetes.pod.uid', 'io.kubernetes.container.restartCount', ''];

type Container = Record<string | number, unknown>;
interface Place {
  readonly parent: Container;
  readonly key: string | number;
}

/** Returns a copy of the decoded reply with the mutation applied. A reply without values stays unchanged. */
export function mutate(reply: object, { pick, value }: Mutation): object {
  const copy = structuredClone(reply) as Container;
  const places: Place[] = [];
  collect(copy, places);
  const place = places[pick % Math.max(1, places.length)];
  if (place) place.parent[place.key] = hostile(place.parent[place.key], value);
  return copy;
}

/** Returns the bytes to send instead. */
export function mutateBytes(bytes: Buffer, { bytes: replacement, pick }: Mutation): Buffer {
  if (replacement === 'empty') return Buffer.alloc(0);
  if (replacement === 'truncated') return bytes.subarray(0, bytes.length === 0 ? 0 : pick % bytes.length);
  if (replacement === 'garbage') return Buffer.from(Array.from({ length: (pick % 64) + 1 }, (_, n) => (pick * 31 + n * 97) & 0xff));
  return bytes;
}

function collect(value: unknown, places: Place[]): void {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return;
  for (const key of Object.keys(value)) {
    places.push({ parent: value as Container, key });
    collect((value as Container)[key], places);
  }
}

function hostile(value: unknown, choice: number): unknown {
  const select = <T>(values: readonly T[]): T => values[choice % values.length]!;
  if (typeof value === 'string') return select(strings);
  if (typeof value === 'number') return select(integers);
  if (typeof value === 'bigint') return select(longs);
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return hostileArray(value, choice);
  const isMessage = typeof value === 'object' && value !== null && !(value instanceof Uint8Array);
  return isMessage ? hostileObject(value as Container, choice) : value;
}

function hostileArray(value: readonly unknown[], choice: number): readonly unknown[] {
  const choices = [
    [],
    value.slice(1),
    [...value, ...value],
    Array.from({ length: 200 }, () => value[0]).filter((element) => element !== undefined),
  ];
  return choices[choice % choices.length]!;
}

/** Removes the submessage, empties it, or adds an unexpected key to a map. */
function hostileObject(value: Container, choice: number): unknown {
  const isMap = Object.values(value).every((entry) => typeof entry === 'string');
  if (!isMap || choice % 3 === 0) return undefined;
  if (choice % 3 === 1) return {};
  const key = reserved[choice % reserved.length]!;
  return Object.defineProperty({ ...value }, key, {
    value: strings[choice % strings.length],
    enumerable: true,
    writable: true,
    configurable: true,
  });
}
