/**
 * Expands `$(VAR)` in commands, arguments, environment values and subPathExpr. `$$` is a literal dollar sign. A reference to an
 * undefined variable stays unchanged (upstream third_party/forked/golang/expansion, and the API documentation of `command`).
 */

/**
 * The kernel's limit for the arguments and the environment of a process (bprm_stack_limits of fs/exec.c: three quarters of _STK_LIM, which is 8 MiB). CRI
 * messages may be longer. Without a limit, about twenty variables that each refer twice to the next one would expand to more than a million
 * times their length.
 */
export const maxExpandedLength = 6 * 1024 * 1024;

/** Replaces each reference by `resolve(name)`. Throws an Error when the result exceeds maxExpandedLength. */
export function expand(input: string, resolve: (name: string) => string): string {
  let output = '';
  let literalStart = 0;
  // A `$(` without a closing parenthesis ends the search for closing parentheses: none follows. Otherwise a megabyte of `$(`
  // would cost quadratic time.
  let isClosed = true;
  for (let dollar = input.indexOf('$'); dollar !== -1 && dollar + 1 < input.length; dollar = input.indexOf('$', literalStart)) {
    output += input.slice(literalStart, dollar);
    const next = input[dollar + 1];
    const close: number = next === '(' && isClosed ? input.indexOf(')', dollar + 2) : -1;
    if (next === '(') isClosed = close !== -1;
    if (close !== -1) {
      const name = input.slice(dollar + 2, close);
      const value = resolve(name);
      if (output.length + value.length > maxExpandedLength) throw new TooLongError(`$(${name})`);
      output += value;
      literalStart = close + 1;
    } else {
      output += next === '$' ? '$' : `$${next}`;
      literalStart = dollar + 2;
    }
  }
  return output + input.slice(literalStart);
}

/** Throws an Error when the total length exceeds maxExpandedLength. */
export function checkExpandedLength(texts: Iterable<{ readonly length: number }>, description: string): void {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length > maxExpandedLength) throw new TooLongError(description);
}

export class TooLongError extends Error {
  constructor(what: string) {
    super(`${what}: more than ${maxExpandedLength} bytes, with which no process starts`);
  }
}

/** Returns a resolver that takes the value from the first map with the name. An unknown name resolves to its own reference. */
export function resolverFrom(...maps: readonly ReadonlyMap<string, string>[]): (name: string) => string {
  return (name) => {
    for (const map of maps) {
      const value = map.get(name);
      if (value !== undefined) return value;
    }
    return `$(${name})`;
  };
}
