/**
 * The schema language that describes the API's types. Decoding a manifest by a schema drops unknown fields, reports wrong types
 * with their paths, and drops zero values of optional fields, which Go cannot distinguish from absent ones. All later code sees
 * this one form.
 */
export type Schema =
  | { readonly kind: 'text' | 'bool' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'time' }
  | { readonly kind: 'list' | 'map'; readonly element: Schema }
  /** Optional. A zero value is significant when it is present. */
  | { readonly kind: 'pointer'; readonly element: Schema }
  /** Required. An absent value is zero. */
  | { readonly kind: 'always'; readonly element: Schema }
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

export function list(elementSchema: Schema): Schema {
  return { kind: 'list', element: elementSchema };
}
/** The keys are strings. */
export function map(elementSchema: Schema): Schema {
  return { kind: 'map', element: elementSchema };
}
export function pointer(elementSchema: Schema): Schema {
  return { kind: 'pointer', element: elementSchema };
}
/** A field without `omitempty`: Go writes it to JSON also when it is empty. */
export function always(elementSchema: Schema): Schema {
  return { kind: 'always', element: elementSchema };
}
export function struct(fields: Readonly<Record<string, Schema>>): Struct {
  return { kind: 'struct', fields };
}
