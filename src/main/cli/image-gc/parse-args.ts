/** Parses the arguments of `kubelet image-gc`. Pure. */
import { parseSubcommandArgs } from '../subcommand-args.ts';

export interface ImageGcArgs {
  readonly rootDir: string;
  readonly json: boolean;
}

export const imageGcHelp = `Prints what the collection of images would do now: which images it would remove, and why each image would go or stay. It removes nothing.
A kubelet must run on this node.

Usage:
  kubelet image-gc [flags]

Flags:
  -o, --output string      table or json (default "table")
      --root-dir string    The root directory of the running kubelet (default "/var/lib/kubelet")
  -h, --help               Print this help
`;

/** Throws an Error that names the argument. */
export function parseImageGcArgs(args: readonly string[]): ImageGcArgs | 'help' {
  const parsed = parseSubcommandArgs(args, {
    values: { 'root-dir': '/var/lib/kubelet', output: 'table' },
    shorthands: { o: 'output' },
  });
  if (parsed === 'help') return parsed;
  const { positional, values } = parsed;
  if (positional[0] !== undefined) throw new Error(`unexpected argument: ${positional[0]}`);
  const { output = '', 'root-dir': rootDir = '' } = values;
  if (output !== 'table' && output !== 'json') throw new Error(`--output must be table or json: ${output}`);
  return { rootDir, json: output === 'json' };
}
