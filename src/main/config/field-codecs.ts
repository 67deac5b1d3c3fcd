/**
 * Codecs for the fields of a configuration file: each reads a value, has the value of an absent field, and writes the value for `/configz`.
 * The rules are those of Go's JSON for upstream's types. Null is the same as absent. A plain field that is absent or zero takes its default,
 * and is omitted while it is zero (`omitempty`). A pointer field takes its default only when it is absent, and is written whenever it has a
 * value.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { canonicalQuantity } from '../../shared/kubernetes/quantity.ts';
import { formatDuration, parseDuration } from '../../shared/kubernetes/duration.ts';
import type { Milliseconds, QuantityString, StringMap } from './kubelet-configuration.ts';
import { describeValue, type FieldPath } from './field-path.ts';

export interface Codec<T> {
  /** The value of an absent field, before defaults that depend on other fields. */
  readonly absent: T;
  /** Reads a value. Records a problem at its field path and returns `absent` if the value is invalid. */
  read(value: unknown, fieldPath: FieldPath): T;
  /** Returns the JSON value. Undefined: the field is omitted. */
  write(value: T): unknown;
}

/** Parses a value that is present. Returns undefined or throws if the value is invalid. */
type Parse<T> = (value: unknown) => T | undefined;

function omittedWhenZero<T extends string | number | boolean>(expectation: string, zero: T, fallback: T, parse: Parse<T>): Codec<T> {
  return {
    absent: fallback,
    read: (value, fieldPath) => {
      const parsed = readPresent(expectation, parse, value, fieldPath);
      return parsed === undefined || parsed === zero ? fallback : parsed;
    },
    write: (value) => (value === zero ? undefined : value),
  };
}

/** Returns undefined if the value is absent, or invalid, which is then recorded. */
function readPresent<T>(expectation: string, parse: Parse<T>, value: unknown, fieldPath: FieldPath): T | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    const parsed = parse(value);
    if (parsed === undefined) fieldPath.addProblem(`must be ${expectation}, got ${describeValue(value)}`);
    return parsed;
  } catch (err) {
    fieldPath.addProblem(`must be ${expectation}, got ${describeValue(value)}: ${messageOf(err)}`);
    return undefined;
  }
}

const parseBool: Parse<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);
const parseString: Parse<string> = (value) => (typeof value === 'string' ? value : undefined);
const parseFloat64: Parse<number> = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);
const parseWithin =
  (min: number, max: number): Parse<number> =>
  (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max ? (value as number) : undefined;
const parseDurationText: Parse<Milliseconds> = (value) => (typeof value === 'string' ? parseDuration(value) : undefined);
const parseQuantityText: Parse<QuantityString> = (value) => {
  if (typeof value === 'number' && Number.isFinite(value)) return canonicalQuantity(String(value));
  return typeof value === 'string' ? canonicalQuantity(value) : undefined;
};

const kinds = {
  bool: { expectation: 'true or false', parse: parseBool },
  string: { expectation: 'a string', parse: parseString },
  int32: { expectation: 'a whole number of 32 bits', parse: parseWithin(-(2 ** 31), 2 ** 31 - 1) },
  uint32: { expectation: 'a whole number from 0 to 4294967295', parse: parseWithin(0, 2 ** 32 - 1) },
  /** Exact only up to 2^53, which no field comes near. */
  int64: { expectation: 'a whole number', parse: parseWithin(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) },
  float: { expectation: 'a number', parse: parseFloat64 },
  duration: { expectation: 'a duration such as "20s"', parse: parseDurationText },
  quantity: { expectation: 'a quantity such as "10Mi"', parse: parseQuantityText },
} as const;

const bool = (fallback = false): Codec<boolean> => omittedWhenZero(kinds.bool.expectation, false, fallback, parseBool);
const text = (fallback = ''): Codec<string> => omittedWhenZero(kinds.string.expectation, '', fallback, parseString);
const int32 = (fallback = 0): Codec<number> => omittedWhenZero(kinds.int32.expectation, 0, fallback, kinds.int32.parse);
const int64 = (fallback = 0): Codec<number> => omittedWhenZero(kinds.int64.expectation, 0, fallback, kinds.int64.parse);

/** Numbers and strings that are written even while they are zero or empty. */
const uint32KeepZero = (): Codec<number> => alwaysWritten('uint32', 0);
const int32KeepZero = (): Codec<number> => alwaysWritten('int32', 0);
const int64KeepZero = (): Codec<number> => alwaysWritten('int64', 0);
const textKeepEmpty = (fallback = ''): Codec<string> => {
  const codec = text(fallback);
  return { ...codec, write: (value) => value };
};

/** A struct in Go, so it is always written. Zero takes the default. */
function duration(fallback: Milliseconds = 0): Codec<Milliseconds> {
  return { ...omittedWhenZero(kinds.duration.expectation, 0, fallback, parseDurationText), write: formatDuration };
}

/** A duration, or a number of nanoseconds. */
function durationOrNanos(fallback: Milliseconds): Codec<Milliseconds> {
  const parse: Parse<Milliseconds> = (value) => (Number.isInteger(value) ? (value as number) / 1e6 : parseDurationText(value));
  return { ...omittedWhenZero('a duration such as "5s" or a number of nanoseconds', 0, fallback, parse), write: formatDuration };
}

/** A quantity in canonical form, always written. */
const quantity = (fallback: QuantityString): Codec<QuantityString> => alwaysWritten('quantity', fallback);

/** A pointer in Go: a value that is set stays, including zero. */
const optional = {
  bool: (fallback: boolean): Codec<boolean> => alwaysWritten('bool', fallback),
  text: (fallback: string): Codec<string> => alwaysWritten('string', fallback),
  int32: (fallback: number): Codec<number> => alwaysWritten('int32', fallback),
  int64: (fallback: number): Codec<number> => alwaysWritten('int64', fallback),
  duration: (fallback: Milliseconds): Codec<Milliseconds> => ({
    ...alwaysWritten<Milliseconds>('duration', fallback),
    write: formatDuration,
  }),
};

function alwaysWritten<T>(kind: keyof typeof kinds, fallback: T): Codec<T> {
  const { expectation, parse } = kinds[kind];
  return {
    absent: fallback,
    read: (value, fieldPath) => readPresent(expectation, parse as Parse<unknown> as Parse<T>, value, fieldPath) ?? fallback,
    write: (value) => value,
  };
}

/** Written even while it is zero. */
const floatKeepZero = (): Codec<number> => alwaysWritten('float', 0);

/** Null while the field is not set. The default, if any, depends on other fields. */
function nullable<T>(codec: Codec<T>): Codec<T | null> {
  return {
    absent: null,
    read: (value, fieldPath) => (value === undefined || value === null ? null : codec.read(value, fieldPath)),
    write: (value) => (value === null ? undefined : codec.write(value)),
  };
}

/** A list. An absent list takes the default. */
function listOf<T>(item: Codec<T>, fallback: readonly T[] = []): Codec<readonly T[]> {
  return {
    absent: fallback,
    read: (value, fieldPath) => {
      if (value === undefined || value === null) return fallback;
      if (Array.isArray(value)) return value.map((entry, index) => item.read(entry, fieldPath.child(index)));
      fieldPath.addProblem(`must be a list, got ${describeValue(value)}`);
      return fallback;
    },
    // An empty string or a zero inside a list is written.
    write: (value) => (value.length === 0 ? undefined : value.map((entry) => item.write(entry) ?? entry)),
  };
}

const texts = (fallback: readonly string[] = []): Codec<readonly string[]> => listOf(text(), fallback);

/** A map with string keys. */
function mapOf<T>(item: Codec<T>): Codec<Readonly<Record<string, T>>> {
  const absent: Readonly<Record<string, T>> = {};
  return {
    absent,
    read: (value, fieldPath) => {
      if (value === undefined || value === null) return absent;
      if (!isMap(value)) {
        fieldPath.addProblem(`must be a map, got ${describeValue(value)}`);
        return absent;
      }
      return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, item.read(entry, fieldPath.child(key))]));
    },
    write: (value) => {
      const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
      return entries.length === 0 ? undefined : Object.fromEntries(entries.map(([key, entry]) => [key, item.write(entry) ?? entry]));
    },
  };
}

const textMap = (): Codec<StringMap> => mapOf(text());

/** The codecs of all fields of a struct. A missing field does not compile. */
export type FieldCodecs<T> = { readonly [K in keyof T]: Codec<T[K]> };

/** A struct, always written. Unknown fields are problems. */
function struct<T extends object>(fields: FieldCodecs<T>): Codec<T> {
  const entries = Object.entries(fields) as [keyof T & string, Codec<unknown>][];
  return {
    absent: Object.fromEntries(entries.map(([name, codec]) => [name, codec.absent])) as T,
    read: (value, fieldPath) => {
      const wireFields: Record<string, unknown> = isMap(value) ? value : {};
      if (value !== undefined && value !== null && !isMap(value))
        fieldPath.addProblem(`must be a map of fields, got ${describeValue(value)}`);
      for (const name of Object.keys(wireFields)) if (!Object.hasOwn(fields, name)) fieldPath.child(name).addProblem(unknownField);
      return Object.fromEntries(
        entries.map(([name, codec]) => [
          name,
          codec.read(Object.hasOwn(wireFields, name) ? wireFields[name] : undefined, fieldPath.child(name)),
        ]),
      ) as T;
    },
    write: (value) => {
      const written = entries.map(([name, codec]) => [name, codec.write(value[name])] as const);
      return Object.fromEntries(written.filter(([, wire]) => wire !== undefined));
    },
  };
}

/** The codecs, for schemas. They are members of one object because most of their names mean something else in other files. */
export const codecs = {
  bool,
  text,
  int32,
  int64,
  uint32KeepZero,
  int32KeepZero,
  int64KeepZero,
  textKeepEmpty,
  duration,
  durationOrNanos,
  quantity,
  optional,
  floatKeepZero,
  nullable,
  listOf,
  texts,
  mapOf,
  textMap,
  struct,
};

export const unknownField = 'unknown field';

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
