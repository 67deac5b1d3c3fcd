/** Looks up Go types by name. Separate from go-type.ts, because the generated table imports its types from there. */
import { goTypes } from './generated/go-types.ts';
import type { GoType } from './go-type.ts';

/** Types without an entry in the table, such as `*T`, by name. */
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
