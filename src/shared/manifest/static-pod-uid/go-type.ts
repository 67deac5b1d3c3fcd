/**
 * Descriptions of Go types, with the detail that decoding from a manifest and printing with Go's debug printer need, and the values of
 * these types.
 */
import { goTypes } from './generated/go-types.ts';

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

const unnamed = new Map<string, GoType>();

/** Looks up a type by the name from Go's reflection. Unnamed types describe themselves: `*T`, `[]T`, `map[string]T`. */
export function goType(name: string): GoType {
  const known = goTypes[name] ?? unnamed.get(name);
  if (known) return known;
  const [, prefix = '', of = ''] = /^(\*|\[\]|map\[[^\]]*\])(.*)$/.exec(name) ?? [];
  const type: GoType = { kind: prefix === '*' ? 'pointer' : prefix === '[]' ? 'slice' : 'map', of };
  unnamed.set(name, type);
  return type;
}
