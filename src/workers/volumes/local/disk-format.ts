/** The arguments and the output of the programs that examine, check and format a disk (upstream mount-utils mount_linux.go). Pure. */

/** The exit code and the output of blkid. */
export interface BlkidExit {
  readonly code: number;
  readonly stdout: string;
}

/** Upstream's text for a disk with a partition table. It is not the name of a filesystem, but it keeps the disk from being formatted. */
const partitioned = 'unknown data, probably partitions';

export const blkidArguments = (device: string) => ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device];

/** Returns the filesystem on a disk, and an empty string for an unformatted one; or why blkid can't say. */
export function diskFormat({ code, stdout }: BlkidExit): string | { readonly problem: string } {
  // blkid(8) exits with 2 when it finds neither TYPE nor PTTYPE.
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

/** Whether mkfs can be called for this type, which is part of the program's name. */
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

/** The exit code of fsck(8) for errors that were left uncorrected. */
const uncorrected = 4;

/** Returns why the disk must not be mounted, or null. As upstream, other codes let the mount decide. */
export function fsckProblem(device: string, code: number, output: string): string | null {
  return code === uncorrected ? `'fsck' found errors on device ${device} but could not correct them: ${output}` : null;
}
