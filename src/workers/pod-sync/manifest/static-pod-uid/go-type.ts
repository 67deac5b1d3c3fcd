/**
 * Descriptions of Go types, with the detail that decoding from a manifest and printing with Go's debug printer need, and the values of
 * these types.
 */

export type GoType =
  | { readonly kind: 'bool' | 'string' | 'number' }
  | { readonly kind: 'pointer' | 'slice' | 'map'; readonly of: string }
  | { readonly kind: 'struct'; readonly fields: readonly GoField[] };

/** `json` is the name of the field in a manifest: `...` for an inlined struct, absent for a field that manifests do not have. */
export type GoField = readonly [name: string, type: string, json?: string];

/**
 * A value of a Go type. A struct is an object with Go's field names, where absent fields are zero. A slice is an array, or null when it
 * is nil. A pointer is its target, or null.
 */
export type GoValue = string | number | bigint | boolean | null | undefined | GoStruct | Map<string, GoValue> | readonly GoValue[];
export interface GoStruct {
  [field: string]: GoValue;
}
