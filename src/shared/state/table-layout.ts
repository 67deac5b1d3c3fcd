/**
 * Where the fields of a typed table's row lie. Declared once per table; writer and readers in all threads derive the same offsets,
 * and a fingerprint of them stands in the buffer's header, so that a buffer opened as the wrong table is an error and not garbage.
 */
type NumberKind = 'u8' | 'u32' | 'i32' | 'f64';

export type Field<T = unknown> = {
  readonly kind: NumberKind | 'i64' | 'text';
  /** Bytes in the row; for text two more hold its length. */
  readonly width: number;
  /** Only for the compiler: what the field holds. */
  readonly __value?: T;
};
export type Fields = Readonly<Record<string, Field>>;
export type ValueOf<F> = F extends Field<infer T> ? T : never;
export type Row<S extends Fields> = { readonly [K in keyof S]: ValueOf<S[K]> };

export const u8: Field<number> = { kind: 'u8', width: 1 };
export const u32: Field<number> = { kind: 'u32', width: 4 };
export const i32: Field<number> = { kind: 'i32', width: 4 };
export const f64: Field<number> = { kind: 'f64', width: 8 };
/** A bigint: for counts of nanoseconds, which pass 2^53. */
export const i64: Field<bigint> = { kind: 'i64', width: 8 };

/** A string of at most `maxBytes` bytes of UTF-8. A longer value is refused, never cut: two IDs must not become one. */
export function text<T extends string = string>(maxBytes: number): Field<T> {
  return { kind: 'text', width: maxBytes };
}

export interface Layout<S extends Fields> {
  readonly name: string;
  readonly fields: S;
  /** Byte offset of each field from the start of its row. */
  readonly offsets: { readonly [K in keyof S]: number };
  readonly rowBytes: number;
  readonly fingerprint: number;
}

/** Before the fields of a row: its version, and whether it is in use. */
export const rowHeaderBytes = 8;
const alignment: Record<Field['kind'], number> = { u8: 1, u32: 4, i32: 4, f64: 8, i64: 8, text: 2 };

/** Lays fields out in the declared order, each at its own alignment, rows at multiples of 8. */
export function layoutOf<S extends Fields>(name: string, fields: S): Layout<S> {
  let end = rowHeaderBytes;
  const offsets: Record<string, number> = {};
  for (const [field, { kind, width }] of Object.entries(fields)) {
    offsets[field] = roundUp(end, alignment[kind]);
    end = offsets[field] + width + (kind === 'text' ? 2 : 0);
  }
  const rowBytes = roundUp(end, 8);
  const shape = JSON.stringify([name, rowBytes, Object.entries(fields).map(([field, { kind, width }]) => [field, kind, width])]);
  return { name, fields, offsets: offsets as { [K in keyof S]: number }, rowBytes, fingerprint: fnv32(shape) };
}

export function roundUp(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}

/** FNV-1a, to int32. */
function fnv32(value: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < value.length; i += 1) hash = Math.imul(hash ^ value.charCodeAt(i), 0x01000193);
  return hash | 0;
}
