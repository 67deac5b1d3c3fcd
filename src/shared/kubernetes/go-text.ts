/** Text as Go's standard library writes it, where others compare it byte for byte: JSON in annotations, quoted strings in files and messages. */

/** JSON like encoding/json: `<`, `>`, `&` and the two line separators are escaped. Keys stand in the order of the object. */
export function toGoJSON(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => (typeof field === 'string' ? field.toWellFormed() : field)).replaceAll(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const shortEscapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** A Go string literal (strconv.Quote, `%q`): what is printable stays. */
export function goQuote(text: string): string {
  const escaped = text.toWellFormed().replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    const short = shortEscapes[char];
    if (short) return short;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${escaped}"`;
}
