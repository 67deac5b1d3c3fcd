/**
 * The layout of a typed table's row. Declared once per table, so that the writer and the readers in all threads compute the same offsets. The buffer's header
 * has a fingerprint of the layout: opening a buffer as the wrong table throws.
 */
type NumberKind = 'u8' | 'u32' | 'i32' | 'f64';

export type Field<T = unknown> = {
  readonly kind: NumberKind | 'i64' | 'text';
  /** Bytes in the row. A text has two more bytes for its length. */
  readonly width: number;
  /** For the compiler only: the type of the field's value. */
  readonly __value?: T;
};
export type Fields = Readonly<Record<string, Field>>;
export type ValueOf<F> = F extends Field<infer T> ? T : never;
export type Row<S extends Fields> = { readonly [K in keyof S]: ValueOf<S[K]> };

export const u8: Field<number> = { kind: 'u8', width: 1 };
export const u32: Field<number> = { kind: 'u32', width: 4 };
export const i32: Field<number> = { kind: 'i32', width: 4 };
export const f64: Field<number> = { kind: 'f64', width: 8 };
/** A bigint, for nanoseconds, which exceed 2^53. */
export const i64: Field<bigint> = { kind: 'i64', width: 8 };

/** A string of at most `maxBytes` bytes of UTF-8. Writing a longer value throws; truncation could make two IDs equal. */
export function boundedText<T extends string = string>(maxBytes: number): Field<T> {
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

/** Two 32-bit cells: the version of the row, and 1 while the row is in use. */
export const rowHeaderBytes = 8;
const alignment: Record<Field['kind'], number> = { u8: 1, u32: 4, i32: 4, f64: 8, i64: 8, text: 2 };

/** Places the fields in the declared order, each at its alignment; rows are multiples of 8 bytes. */
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

/** The hash FNV-1a of 32 bits, with its standard offset basis and prime, as a signed number. */
function fnv32(value: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < value.length; i += 1) hash = Math.imul(hash ^ value.charCodeAt(i), 0x01000193);
  return hash | 0;
}
