/**
 * The words in which the API's types are written down here. A manifest is decoded by them: what is unknown falls away, what has the wrong
 * type is an error with its path, and what Go could not tell from absent (a zero that may be omitted) becomes absent, so that all code
 * after this sees one form.
 */
export type Schema =
  | { readonly kind: 'text' | 'bool' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'time' }
  | { readonly kind: 'list' | 'map'; readonly of: Schema }
  /** May be left out; present, even a zero means something. */
  | { readonly kind: 'pointer'; readonly of: Schema }
  /** Never left out: absent is zero. */
  | { readonly kind: 'always'; readonly of: Schema }
  | Struct;

export interface Struct {
  readonly kind: 'struct';
  readonly fields: Readonly<Record<string, Schema>>;
}

export const text: Schema = { kind: 'text' };
export const bool: Schema = { kind: 'bool' };
export const int32: Schema = { kind: 'int32' };
export const int64: Schema = { kind: 'int64' };
export const quantity: Schema = { kind: 'quantity' };
export const intOrString: Schema = { kind: 'intOrString' };
/** RFC 3339. */
export const time: Schema = { kind: 'time' };

export function list(of: Schema): Schema {
  return { kind: 'list', of };
}
/** Keys are text. */
export function map(of: Schema): Schema {
  return { kind: 'map', of };
}
export function pointer(of: Schema): Schema {
  return { kind: 'pointer', of };
}
export function always(of: Schema): Schema {
  return { kind: 'always', of };
}
export function struct(fields: Readonly<Record<string, Schema>>): Struct {
  return { kind: 'struct', fields };
}
