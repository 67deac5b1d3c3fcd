/** What the programs that examine and format a disk print and get (upstream mount-utils mount_linux.go). Pure. */

/** An exit of blkid. */
export interface BlkidExit {
  readonly code: number;
  readonly stdout: string;
}

/** Not the name of a filesystem: such a disk is never formatted. */
const partitioned = 'unknown data, probably partitions';

export const blkidArguments = (device: string) => ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device];

/** Returns the filesystem on a disk, and an empty string for an unformatted one; or why blkid can't say. */
export function diskFormat({ code, stdout }: BlkidExit): string | { readonly problem: string } {
  // No TYPE and no PTTYPE was found.
  if (code === 2) return '';
  if (code !== 0) return { problem: `exit status ${code}` };
  const values = new Map<string, string>();
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const [key = '', value, ...rest] = line.split('=');
    if (value === undefined || rest.length > 0) return { problem: `blkid returns invalid output: ${stdout.slice(0, 500)}` };
    values.set(key, value);
  }
  return values.get('PTTYPE') ? partitioned : (values.get('TYPE') ?? '');
}

/** Whether mkfs can be called for it: the type is part of the program's name. */
export function isFilesystemType(fsType: string): boolean {
  return /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,31}$/.test(fsType);
}

export function mkfsArguments(fsType: string, device: string): string[] {
  switch (fsType) {
    case 'ext3':
    case 'ext4':
      // No blocks are reserved for root.
      return ['-F', '-m0', device];
    case 'xfs':
      return ['-f', device];
    default:
      return [device];
  }
}

export const fsckArguments = (device: string) => ['-a', device];

/** Exit codes of fsck(8). */
const uncorrected = 4;

/** Returns why the disk must not be mounted, or null. As upstream, other codes let the mount decide. */
export function fsckProblem(device: string, code: number, output: string): string | null {
  return code === uncorrected ? `'fsck' found errors on device ${device} but could not correct them: ${output}` : null;
}
