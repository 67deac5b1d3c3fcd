/** Parses the command line with the syntax and the error messages of upstream's library (spf13/pflag). Pure. */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { flagTable, type FlagSpec } from './flag-table.ts';
import { flagTypes } from './flag-types.ts';

export interface ParsedFlags {
  /** The parsed values by flag name, only of flags that were given. */
  readonly values: ReadonlyMap<string, unknown>;
  /** The arguments that are not flags. */
  readonly positionalArgs: readonly string[];
  /** One line per deprecated flag that was given, in order. */
  readonly warnings: readonly string[];
}

/** Thrown for a malformed command line. The message is pflag's complete one. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

const byName: ReadonlyMap<string, FlagSpec> = new Map(flagTable.map((spec) => [spec.name, spec]));
const byShorthand: ReadonlyMap<string, FlagSpec> = new Map(
  flagTable.flatMap((spec) => (spec.shorthand === undefined ? [] : [[spec.shorthand, spec] as const])),
);

/** Parses the arguments after the program name. Throws a FlagError. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  const values = new Map<string, unknown>();
  const positionalArgs: string[] = [];
  const warningsByFlag = new Map<string, string>();
  const remainingArgs = [...args];

  const set = (spec: FlagSpec, text: string): void => {
    try {
      const value = flagTypes[spec.type].read(text, values.get(spec.name));
      if (value !== undefined) values.set(spec.name, value);
    } catch (err) {
      const displayName = spec.shorthand === undefined ? `--${spec.name}` : `-${spec.shorthand}, --${spec.name}`;
      throw new FlagError(`invalid argument ${goQuote(text)} for ${goQuote(displayName)} flag: ${(err as Error).message}`, { cause: err });
    }
    if (spec.deprecated !== undefined) warningsByFlag.set(spec.name, `Flag --${spec.name} has been deprecated, ${spec.deprecated}`);
  };

  const parseLongFlag = (arg: string): void => {
    const equalsIndex = arg.indexOf('=');
    const name = equalsIndex < 0 ? arg.slice(2) : arg.slice(2, equalsIndex);
    if (name === '' || name.startsWith('-')) throw new FlagError(`bad flag syntax: ${arg}`);
    const spec = byName.get(name.replaceAll('_', '-'));
    if (!spec) throw new FlagError(`unknown flag: --${name}`);
    const text = equalsIndex < 0 ? (flagTypes[spec.type].noOptDefault ?? remainingArgs.shift()) : arg.slice(equalsIndex + 1);
    if (text === undefined) throw new FlagError(`flag needs an argument: --${name}`);
    set(spec, text);
  };

  /** Parses combined shorthands such as `-hv=2`. Only the last one may have a value. */
  const parseShortFlags = (arg: string): void => {
    for (let letters = arg.slice(1); letters !== '';) {
      const letter = letters.charAt(0);
      const spec = byShorthand.get(letter);
      if (!spec) throw new FlagError(`unknown shorthand flag: ${quoteLetter(letter)} in -${letters}`);
      const { noOptDefault } = flagTypes[spec.type];
      const tail = letters.slice(1);
      if (tail.length > 1 && tail.startsWith('=')) {
        set(spec, tail.slice(1));
        return;
      }
      if (noOptDefault !== undefined) {
        set(spec, noOptDefault);
        letters = tail;
        continue;
      }
      const text = tail === '' ? remainingArgs.shift() : tail;
      if (text === undefined) throw new FlagError(`flag needs an argument: ${quoteLetter(letter)} in -${letters}`);
      set(spec, text);
      return;
    }
  };

  for (let arg = remainingArgs.shift(); arg !== undefined; arg = remainingArgs.shift()) {
    if (arg === '--') positionalArgs.push(...remainingArgs.splice(0));
    else if (arg.startsWith('--')) parseLongFlag(arg);
    else if (arg.startsWith('-') && arg.length > 1) parseShortFlags(arg);
    else positionalArgs.push(arg);
  }
  return { values, positionalArgs, warnings: [...warningsByFlag.values()] };
}

function quoteLetter(letter: string): string {
  return letter === "'" ? String.raw`'\''` : `'${goQuote(letter).slice(1, -1)}'`;
}
