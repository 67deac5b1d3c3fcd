/**
 * The schema language that describes the API's types. Decoding a manifest by a schema drops unknown fields, reports wrong types
 * with their paths, and drops zero values of optional fields, which Go cannot distinguish from absent ones. All later code sees
 * this one form.
 */
export type Schema =
  | { readonly kind: 'text' | 'bool' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'time' }
  | { readonly kind: 'list' | 'map'; readonly of: Schema }
  /** Optional. A zero value is significant when it is present. */
  | { readonly kind: 'pointer'; readonly of: Schema }
  /** Required. An absent value is zero. */
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
/** The keys are strings. */
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
