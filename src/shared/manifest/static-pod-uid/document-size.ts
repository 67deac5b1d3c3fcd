/**
 * How much a document holds in all: the hash reads also what the schema passes over (a status, managed fields), and what it prints may be
 * a hundred times as long.
 */

/** As many as the schema takes of what it knows, counted alike: a list counts its elements twice. */
const maxValues = 100_000;
/** A manifest's bytes are fewer; aliases can repeat a text. */
const maxCharacters = 16 << 20;
const maxDepth = 1000;

/** Why a document is too large to be a pod's; null when it is not. Looks no further than the bounds. */
export function tooLarge(document: unknown): string | null {
  let [values, characters] = [0, 0];
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value: document, depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    values += Array.isArray(value) ? 1 + value.length : 1;
    if (typeof value === 'string') characters += value.length;
    if (values > maxValues) return `more than ${maxValues} values, which no pod needs`;
    if (characters > maxCharacters) return `more than ${maxCharacters} characters, which no pod needs`;
    if (typeof value !== 'object' || value === null) continue;
    if (depth === maxDepth) return `nested deeper than ${maxDepth} levels, which no pod needs`;
    if (!Array.isArray(value)) for (const key of Object.keys(value)) characters += key.length;
    for (const element of Object.values(value)) pending.push({ value: element as unknown, depth: depth + 1 });
  }
  return null;
}
