/**
 * `$(VAR)` in commands, arguments, environment values and subPathExpr. `$$` is a dollar sign; a reference to what is not defined stays
 * as it was written (upstream third_party/forked/golang/expansion, and the API's documentation of `command`).
 */

/** Replaces each reference by what `resolve` makes of its name. */
export function expand(input: string, resolve: (name: string) => string): string {
  let output = '';
  let from = 0;
  for (let dollar = input.indexOf('$'); dollar !== -1 && dollar + 1 < input.length; dollar = input.indexOf('$', from)) {
    output += input.slice(from, dollar);
    const next = input[dollar + 1];
    const close = next === '(' ? input.indexOf(')', dollar + 2) : -1;
    if (close !== -1) {
      output += resolve(input.slice(dollar + 2, close));
      from = close + 1;
    } else {
      output += next === '$' ? '$' : `$${next}`;
      from = dollar + 2;
    }
  }
  return output + input.slice(from);
}

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
