/** Runs the host's programs for disks and mounts: mount(8) knows each filesystem's options, and its errors are what users know from upstream. */
import { runPlugin, type PluginExit } from '../../../shared/linux/run-plugin.ts';
import { blkidArguments, diskFormat, fsckArguments, fsckProblem, isFilesystemType, mkfsArguments } from './disk-format.ts';

/** Replaced in tests. Rejects when the program did not end in time, or can't be started. */
export type RunProgram = (program: string, args: readonly string[], deadlineMs: number) => Promise<PluginExit>;

const minuteMs = 60_000;
const mountDeadlineMs = 2 * minuteMs;
/** Long enough to check or format a disk of some terabytes. */
const diskDeadlineMs = 60 * minuteMs;

export const runProgram: RunProgram = async (command, args, deadlineMs) => {
  const signal = AbortSignal.timeout(deadlineMs);
  // The signal comes before runPlugin's own deadline, whose result has no error code.
  const exit = await runPlugin({ command, args, env: process.env, deadlineMs: 2 * deadlineMs }, signal);
  // A program that hangs in the kernel outlives its kill.
  if (exit.result === 'failed' && signal.aborted)
    throw Object.assign(new Error(`${command} did not end within ${deadlineMs / 1000} s`), { code: 'ETIMEDOUT' });
  return exit;
};

/** A disk with another filesystem than requested could not be mounted. */
export class FilesystemMismatch extends Error {}

export interface DiskMount {
  readonly device: string;
  readonly target: string;
  readonly fsType: string;
  readonly options: readonly string[];
}

/** Mounts a disk, which is checked before, or formatted if it is empty (upstream SafeFormatAndMount). Rejects with an Error in upstream's words. */
export async function formatAndMount({ device, target, fsType, options }: DiskMount, run: RunProgram = runProgram): Promise<void> {
  if (!isFilesystemType(fsType)) throw new Error(`${JSON.stringify(fsType.slice(0, 100))} is not the type of a filesystem`);
  const isReadOnly = options.includes('ro');
  const format = await readFormat(device, run);
  if (format === '') {
    if (isReadOnly) throw new Error(`cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`);
    const exit = await run(`mkfs.${fsType}`, mkfsArguments(fsType, device), diskDeadlineMs);
    if (!isSuccess(exit)) {
      const quoted = [...options, 'defaults'].map((option) => JSON.stringify(option)).join(' ');
      throw new Error(
        `format of disk "${device}" failed: type:("${fsType}") target:("${target}") options:([${quoted}]) errcode:(${statusOf(exit)}) output:(${outputOf(exit)}) `,
      );
    }
  } else if (!isReadOnly) {
    const exit = await run('fsck', fsckArguments(device), diskDeadlineMs);
    const problem = exit.result === 'exited' ? fsckProblem(device, exit.code, outputOf(exit)) : null;
    if (problem !== null) throw new Error(problem);
  }
  const hasOtherType = format !== '' && format !== fsType;
  await runMount(['-t', fsType, '-o', [...options, 'defaults'].join(','), device, target], run).catch((err: Error) => {
    throw hasOtherType ? new FilesystemMismatch(err.message) : err;
  });
}

export function bindMount(source: string, target: string, run: RunProgram = runProgram): Promise<void> {
  return runMount(['-o', 'bind', source, target], run);
}

export function remount(source: string, target: string, options: readonly string[], run: RunProgram = runProgram): Promise<void> {
  return runMount(['-o', options.join(','), source, target], run);
}

async function readFormat(device: string, run: RunProgram): Promise<string> {
  const exit = await run('blkid', blkidArguments(device), mountDeadlineMs);
  const format = exit.result === 'exited' ? diskFormat(exit) : { problem: statusOf(exit) };
  if (typeof format === 'string') return format;
  throw new Error(`failed to get disk format of disk ${device}: ${format.problem}`);
}

async function runMount(args: readonly string[], run: RunProgram): Promise<void> {
  const exit = await run('mount', args, mountDeadlineMs);
  if (isSuccess(exit)) return;
  throw new Error(
    `mount failed: ${statusOf(exit)}\nMounting command: mount\nMounting arguments: ${args.join(' ')}\nOutput: ${outputOf(exit)}`,
  );
}

function isSuccess(exit: PluginExit): boolean {
  return exit.result === 'exited' && exit.code === 0;
}

function statusOf(exit: PluginExit): string {
  if (exit.result === 'exited') return `exit status ${exit.code}`;
  return exit.result === 'not found' ? 'executable file not found in $PATH' : exit.message;
}

function outputOf(exit: PluginExit): string {
  return exit.result === 'exited' ? `${exit.stdout.slice(-2048)}${exit.stderr}` : '';
}
