/**
 * Environment files (fileKeyRef): `NAME='value'` lines, values in single quotes, which may hold newlines; nothing is expanded (upstream
 * pkg/kubelet/util/env).
 */

/** The key's value; empty when it is not there, or assigned nothing. Throws an Error that names the line. */
export function envFileValue(content: string, key: string): string {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  for (let index = 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const fail = (what: string, at = index) => new Error(`invalid environment variable format at line ${at + 1}: ${what}`);
    const equals = line.indexOf('=');
    if (equals === -1) throw fail("missing '='");
    const name = line.slice(0, equals);
    if (name.trim() === '') throw fail('empty variable name');
    if (/[ \t]$/.test(name)) throw fail("whitespace before '=' is not allowed");
    const assigned = line.slice(equals + 1);
    if (/^[ \t]/.test(assigned)) {
      // A shell would assign nothing and run the rest as a command.
      if (name === key) return '';
      continue;
    }
    if (!assigned.startsWith("'")) throw fail('value must be enclosed in single quotes');
    const first = index;
    let value = assigned.slice(1);
    while (!value.includes("'")) {
      index += 1;
      if (index >= lines.length) throw fail('unclosed single quote', first);
      value += `\n${lines[index]}`;
    }
    const close = value.indexOf("'");
    if (!/^[ \t]*(#.*)?$/.test(value.slice(close + 1))) throw fail('unexpected content after closing quote');
    if (name === key) return value.slice(0, close);
  }
  return '';
}
