/**
 * Formats text like Go's standard library, for output that other programs compare byte for byte: JSON in annotations, quoted
 * strings in files and messages, durations in events.
 */

/** Encodes JSON like encoding/json, which escapes `<`, `>`, `&` and the two Unicode line separators. Keys keep the order of the object. */
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

/** Formats a Go string literal (strconv.Quote, `%q`). Printable characters stay unescaped. */
export function goQuote(text: string): string {
  const escaped = text.toWellFormed().replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    const shortEscape = shortEscapes[char];
    if (shortEscape) return shortEscape;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${escaped}"`;
}

/** Formats milliseconds like time.Duration, with nanosecond precision: `1m0s`, `1h0m10.5s`, `100ms`, `0s`. */
export function goDuration(ms: number): string {
  const nanos = Math.round(Math.abs(ms) * 1e6);
  const sign = ms < 0 ? '-' : '';
  if (nanos === 0) return '0s';
  if (nanos < 1e3) return `${sign}${nanos}ns`;
  if (nanos < 1e6) return `${sign}${nanos / 1e3}µs`;
  if (nanos < 1e9) return `${sign}${nanos / 1e6}ms`;
  const wholeSeconds = Math.floor(nanos / 1e9);
  const [hours, minutes] = [Math.floor(wholeSeconds / 3600), Math.floor(wholeSeconds / 60) % 60];
  const fraction = String(nanos % 1e9)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const seconds = `${wholeSeconds % 60}${fraction === '' ? '' : `.${fraction}`}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}
