/**
 * `$(VAR)` in commands, arguments, environment values and subPathExpr. `$$` is a dollar sign; a reference to what is not defined stays
 * as it was written (upstream third_party/forked/golang/expansion, and the API's documentation of `command`).
 */

/**
 * What a runtime takes in one message (upstream's maxMsgSize of the CRI). A variable that refers twice to one that refers twice to another
 * comes to any length, with some twenty lines of a user's pod.
 */
export const maxExpandedLength = 16 * 1024 * 1024;

/** Replaces each reference by what `resolve` makes of its name. Throws an Error when it comes to more than any runtime takes. */
export function expand(input: string, resolve: (name: string) => string): string {
  let output = '';
  let from = 0;
  // Once there is none, there is none behind it either: not to be looked for at each dollar of a megabyte.
  let isClosed = true;
  for (let dollar = input.indexOf('$'); dollar !== -1 && dollar + 1 < input.length; dollar = input.indexOf('$', from)) {
    output += input.slice(from, dollar);
    const next = input[dollar + 1];
    const close: number = next === '(' && isClosed ? input.indexOf(')', dollar + 2) : -1;
    if (next === '(') isClosed = close !== -1;
    if (close !== -1) {
      const name = input.slice(dollar + 2, close);
      const value = resolve(name);
      if (output.length + value.length > maxExpandedLength) throw new Error(`$(${name}): ${tooLong}`);
      output += value;
      from = close + 1;
    } else {
      output += next === '$' ? '$' : `$${next}`;
      from = dollar + 2;
    }
  }
  return output + input.slice(from);
}

/** Throws an Error when all together are more than any runtime takes. */
export function requireShort(texts: Iterable<{ readonly length: number }>, what: string): void {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > maxExpandedLength) throw new Error(`${what}: ${tooLong}`);
}

const tooLong = `more than ${maxExpandedLength} bytes, which no container runtime takes`;

/** Looks a name up in each map in turn; one that is in none is written back as a reference. */
export function resolveIn(...maps: readonly ReadonlyMap<string, string>[]): (name: string) => string {
  return (name) => {
    for (const map of maps) {
      const value = map.get(name);
      if (value !== undefined) return value;
    }
    return `$(${name})`;
  };
}
