/** Parses the arguments of `kubelet eviction`. Pure. */
import { evictionSignals, type EvictionSignal } from '../../../shared/contracts/eviction.ts';
import { parseSubcommandArgs } from '../subcommand-args.ts';

export interface EvictionArgs {
  readonly rootDir: string;
  readonly json: boolean;
  /** Undefined: the signal of the eviction that is due, or else memory.available. */
  readonly signal: EvictionSignal | undefined;
}

/** Short names of signals. */
const shortNames: Readonly<Record<string, EvictionSignal>> = {
  memory: 'memory.available',
  'allocatable-memory': 'allocatableMemory.available',
  nodefs: 'nodefs.available',
  'nodefs-inodes': 'nodefs.inodesFree',
  imagefs: 'imagefs.available',
  'imagefs-inodes': 'imagefs.inodesFree',
  containerfs: 'containerfs.available',
  'containerfs-inodes': 'containerfs.inodesFree',
  pid: 'pid.available',
};

export const evictionHelp = `Prints what the eviction manager would do now: which thresholds are met, what would be reclaimed first, and in which order
pods would be evicted. It evicts nothing. A kubelet must run on this node.

Usage:
  kubelet eviction [flags]

Flags:
      --json               Print JSON
      --signal string      Show the order of pods for this signal: ${Object.keys(shortNames).slice(0, 5).join(', ')},
                           ${Object.keys(shortNames).slice(5).join(', ')}, or its full name.
                           By default that of the eviction that is due, or else memory
      --root-dir string    The root directory of the running kubelet (default "/var/lib/kubelet")
  -h, --help               Print this help
`;

/** Throws an Error that names the argument. */
export function parseEvictionArgs(args: readonly string[]): EvictionArgs | 'help' {
  const parsed = parseSubcommandArgs(args, { values: { 'root-dir': '/var/lib/kubelet', signal: 'default' }, switches: ['json'] });
  if (parsed === 'help') return parsed;
  const { positional, values, switches } = parsed;
  if (positional[0] !== undefined) throw new Error(`unexpected argument: ${positional[0]}`);
  const { signal = '', 'root-dir': rootDir = '' } = values;
  return { rootDir, json: switches.has('json'), signal: signal === 'default' ? undefined : toSignal(signal) };
}

function toSignal(name: string): EvictionSignal {
  const signal = Object.hasOwn(shortNames, name) ? shortNames[name] : evictionSignals.find((full) => full === name);
  if (signal === undefined) throw new Error(`--signal must be one of ${Object.keys(shortNames).join(', ')}: ${name}`);
  return signal;
}
