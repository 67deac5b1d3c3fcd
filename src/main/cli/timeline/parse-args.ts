/** Parses the arguments of `kubelet timeline`. Pure. */

export interface TimelineArgs {
  /** Undefined: the slowest pods. */
  readonly pod: string | undefined;
  readonly rootDir: string;
  readonly json: boolean;
  readonly limit: number;
}

export const timelineHelp = `Prints the timeline of a pod: when each phase of its start and of its termination began, how long it took, what it waited for,
and what a terminating pod still waits for. Without a pod, it lists the slowest pods. A kubelet must run on this node.

Usage:
  kubelet timeline [<namespace>/<pod>] [flags]

Flags:
      --json               Print JSON
      --limit int          Number of pods in the list, at most 500 (default 20)
      --root-dir string    The root directory of the running kubelet (default "/var/lib/kubelet")
  -h, --help               Print this help
`;

/** Throws an Error that names the argument. */
export function parseTimelineArgs(args: readonly string[]): TimelineArgs | 'help' {
  const flags = { 'root-dir': '/var/lib/kubelet', limit: '20' };
  let [pod, json]: [string | undefined, boolean] = [undefined, false];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index]!;
    if (arg === '-h' || arg === '--help') return 'help';
    const [name, inline] = splitFlag(arg);
    if (name === 'json' && inline === undefined) json = true;
    else if (name === 'root-dir' || name === 'limit') {
      const value = inline ?? args[(index += 1)];
      if (value === undefined || value === '') throw new Error(`flag needs an argument: --${name}`);
      flags[name] = value;
    } else if (arg.startsWith('-')) throw new Error(`unknown flag: ${arg}`);
    else if (pod !== undefined) throw new Error(`only one pod can be shown: ${pod} or ${arg}`);
    else if (!/^[^/]+\/[^/]+$/.test(arg)) throw new Error(`${arg} is not <namespace>/<pod>`);
    else pod = arg;
  }
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw new Error(`--limit must be a number from 1 to 500: ${flags.limit}`);
  return { pod, rootDir: flags['root-dir'], json, limit };
}

function splitFlag(arg: string): [name: string, value: string | undefined] {
  if (!arg.startsWith('--')) return ['', undefined];
  const equals = arg.indexOf('=');
  return equals < 0 ? [arg.slice(2), undefined] : [arg.slice(2, equals), arg.slice(equals + 1)];
}
