/** Parses the arguments of a subcommand, such as `kubelet timeline`. Pure. */

export interface SubcommandArgs {
  readonly positional: readonly string[];
  /** The flags' values, and their defaults. */
  readonly values: Readonly<Record<string, string>>;
  readonly switches: ReadonlySet<string>;
}

export interface SubcommandFlags {
  /** Flags with a value, and their defaults. */
  readonly values: Readonly<Record<string, string>>;
  /** Flags without a value. */
  readonly switches?: readonly string[];
  /** By letter: the flag with a value for which the letter stands. */
  readonly shorthands?: Readonly<Record<string, string>>;
}

/** Throws an Error that names the argument. */
export function parseSubcommandArgs(args: readonly string[], flags: SubcommandFlags): SubcommandArgs | 'help' {
  const values = { ...flags.values };
  const switches = new Set<string>();
  const positional: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index]!;
    if (arg === '-h' || arg === '--help') return 'help';
    const { name, text, inline } = splitFlag(arg, flags.shorthands ?? {});
    if (flags.switches?.includes(name) === true && inline === undefined) switches.add(name);
    else if (Object.hasOwn(values, name)) {
      const value = inline ?? args[(index += 1)];
      if (value === undefined || value === '') throw new Error(`flag needs an argument: ${text}`);
      values[name] = value;
    } else if (arg.startsWith('-')) throw new Error(`unknown flag: ${arg}`);
    else positional.push(arg);
  }
  return { positional, values, switches };
}

/** `text` is the flag as the user wrote it, without its value. `inline` is the value in the same argument. */
function splitFlag(
  arg: string,
  shorthands: Readonly<Record<string, string>>,
): { readonly name: string; readonly text: string; readonly inline?: string } {
  if (/^-[a-z]/.test(arg)) {
    const text = arg.slice(0, 2);
    const name = shorthands[arg[1]!] ?? '';
    return arg.length === 2 ? { name, text } : { name, text, inline: arg.slice(arg[2] === '=' ? 3 : 2) };
  }
  if (!arg.startsWith('--')) return { name: '', text: arg };
  const equals = arg.indexOf('=');
  const text = equals < 0 ? arg : arg.slice(0, equals);
  return { name: text.slice(2), text, ...(equals >= 0 && { inline: arg.slice(equals + 1) }) };
}
