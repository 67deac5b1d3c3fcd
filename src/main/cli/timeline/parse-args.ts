/** Parses the arguments of `kubelet timeline`. Pure. */
import { parseSubcommandArgs } from '../subcommand-args.ts';

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
  const parsed = parseSubcommandArgs(args, { values: { 'root-dir': '/var/lib/kubelet', limit: '20' }, switches: ['json'] });
  if (parsed === 'help') return parsed;
  const { positional, values, switches } = parsed;
  const [pod, another] = positional;
  if (another !== undefined) throw new Error(`only one pod can be shown: ${pod} or ${another}`);
  if (pod !== undefined && !/^[^/]+\/[^/]+$/.test(pod)) throw new Error(`${pod} is not <namespace>/<pod>`);
  const limit = Number(values['limit']);
  if (!Number.isInteger(limit) || limit < 1 || limit > 500) throw new Error(`--limit must be a number from 1 to 500: ${values['limit']}`);
  return { pod, rootDir: values['root-dir']!, json: switches.has('json'), limit };
}
