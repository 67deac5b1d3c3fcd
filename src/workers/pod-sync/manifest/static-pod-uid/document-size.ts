/**
 * Limits the size of a document. The UID's hash includes fields that the schema ignores (a status, managed fields), and its dump may be a
 * hundred times larger than the document.
 */

/** The limit of decode-value.ts, with the same counting: the elements of a list count twice. */
const maxValues = 100_000;
/** Exceeds the bytes of any manifest. Aliases can repeat a text. */
const maxCharacters = 16 << 20;
const maxDepth = 1000;

/** Returns why a document is too large for a pod, or null. Stops at the first exceeded limit. */
export function documentSizeError(document: unknown): string | null {
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
