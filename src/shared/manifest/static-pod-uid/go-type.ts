/** What is known of a Go type: enough to read a value of it out of a manifest, and to print it as Go's debug printer does. */
import { goTypes } from './generated/go-types.ts';

export type GoType =
  | { readonly kind: 'bool' | 'string' | 'number' }
  | { readonly kind: 'pointer' | 'slice' | 'map'; readonly of: string }
  | { readonly kind: 'struct'; readonly fields: readonly GoField[] };

/** `json` is the field's name in a manifest: `...` where its own fields stand in its place, absent where no manifest has it. */
export type GoField = readonly [name: string, type: string, json?: string];

/**
 * A value of a Go type. A struct is an object by Go's field names, of which those left out are zero; a slice is an array, and null when it
 * is nil; a pointer is what it points at, or null.
 */
export type GoValue = string | number | bigint | boolean | null | undefined | GoStruct | Map<string, GoValue> | readonly GoValue[];
export interface GoStruct {
  [field: string]: GoValue;
}

const unnamed = new Map<string, GoType>();

/** By the name that Go's reflection gives it. Types without a name of their own say what they are: `*T`, `[]T`, `map[string]T`. */
export function goType(name: string): GoType {
  const known = goTypes[name] ?? unnamed.get(name);
  if (known) return known;
  const [, prefix = '', of = ''] = /^(\*|\[\]|map\[[^\]]*\])(.*)$/.exec(name) ?? [];
  const type: GoType = { kind: prefix === '*' ? 'pointer' : prefix === '[]' ? 'slice' : 'map', of };
  unnamed.set(name, type);
  return type;
}
