/** Quoting as Go's %q does it, so that log lines and messages read as those of every other Kubernetes component. */
const named: Readonly<Record<string, string>> = {
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

/** What Go does not print as it is: quotes, backslashes, controls, lone surrogates, unassigned code points, spaces other than ' '. */
const special = /["\\\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** `strconv.Quote`: the text in double quotes, on one line, with nothing unprintable in it. */
export function goQuote(text: string): string {
  return `"${text.replace(special, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  const short = named[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  // A lone surrogate is no character; Go would have read U+FFFD, and prints it.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
