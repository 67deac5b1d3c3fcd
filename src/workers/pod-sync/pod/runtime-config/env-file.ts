/**
 * Parses environment files (fileKeyRef): `NAME='value'` lines. Values are in single quotes, may contain newlines, and are not expanded
 * (upstream pkg/kubelet/util/env).
 */

export interface EnvFile {
  /** The first assignment of each wanted name; an empty string for an empty assignment. */
  readonly values: ReadonlyMap<string, string>;
  /** An Error that names the first invalid line, or null. Assignments before that line are valid. */
  readonly problem: Error | null;
}

/** Runs in linear time, and keeps only the wanted names: the file's content is untrusted. */
export function parseEnvFile(content: string, names: ReadonlySet<string>): EnvFile {
  const values = new Map<string, string>();
  try {
    for (const [name, value] of assignments(content)) if (names.has(name) && !values.has(name)) values.set(name, value);
    return { values, problem: null };
  } catch (err) {
    return { values, problem: err as Error };
  }
}

/** Returns the wanted key's value, or an empty string when the file does not assign it. Throws when an invalid line precedes the assignment. */
export function envFileValue({ values, problem }: EnvFile, key: string): string {
  const value = values.get(key);
  if (value === undefined && problem) throw problem;
  return value ?? '';
}

function* assignments(content: string): Generator<[name: string, value: string]> {
  const lines = content.split('\n').map((line) => line.replace(/\r$/, ''));
  if (lines.at(-1) === '') lines.pop();
  for (let index = 0; index < lines.length; index += 1) {
    const line = (lines[index] ?? '').replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const fail = (violation: string, lineIndex = index) =>
      new Error(`invalid environment variable format at line ${lineIndex + 1}: ${violation}`);
    const equals = line.indexOf('=');
    if (equals === -1) throw fail("missing '='");
    const name = line.slice(0, equals);
    if (name.trim() === '') throw fail('empty variable name');
    if (/[ \t]$/.test(name)) throw fail("whitespace before '=' is not allowed");
    const assigned = line.slice(equals + 1);
    if (/^[ \t]/.test(assigned)) {
      // A shell would make an empty assignment and run the rest as a command.
      yield [name, ''];
      continue;
    }
    if (!assigned.startsWith("'")) throw fail('value must be enclosed in single quotes');
    const firstLine = index;
    const value: string[] = [];
    let remainingText = assigned.slice(1);
    while (!remainingText.includes("'")) {
      value.push(remainingText);
      index += 1;
      if (index >= lines.length) throw fail('unclosed single quote', firstLine);
      remainingText = lines[index] ?? '';
    }
    const close = remainingText.indexOf("'");
    if (!/^[ \t]*(#.*)?$/.test(remainingText.slice(close + 1))) throw fail('unexpected content after closing quote');
    yield [name, [...value, remainingText.slice(0, close)].join('\n')];
  }
}
