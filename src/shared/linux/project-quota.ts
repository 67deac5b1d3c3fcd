/**
 * Project quotas of ext4 and XFS. A directory has a project, which all that is created in it inherits; the filesystem counts what the files of each project use.
 * Only the host's user namespace may change a project. The calls block, and need Linux 5.14 (quotactl_fd). Each throws SystemCallError.
 */
import { bindAtFirstUse } from './c-library.ts';
import { toError } from './native.ts';

export interface ProjectUsage {
  readonly bytes: number;
  readonly inodes: number;
}

interface Functions {
  readonly ioctl: (fd: number, request: number, attributes: Uint8Array) => number;
  readonly syscall: (number: number, fd: number, command: number, id: number, result: Uint8Array) => number;
}

const libc = bindAtFirstUse<Functions>(({ func }) => ({
  ioctl: func('int ioctl(int fd, unsigned long request, _Inout_ uint8_t *attributes)'),
  syscall: func('long syscall(long number, long fd, long command, long id, _Inout_ uint8_t *result)'),
}));

/** FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR, FS_XFLAG_PROJINHERIT, the size of struct fsxattr, and its offsets of fsx_xflags and fsx_projid (linux/fs.h). */
const getAttributes = 0x801c581f;
const setAttributes = 0x401c5820;
const inheritFlag = 0x200;
const attributesLength = 28;
const attributeAt = { flags: 0, project: 12 } as const;

/** The same number on x86-64 and arm64. */
const quotactlFd = 443;
/** QCMD(Q_GETQUOTA, PRJQUOTA), the size of struct if_dqblk, and its offsets of dqb_curspace and dqb_curinodes (linux/quota.h). Also for XFS. */
const getProjectQuota = 0x800007 * 256 + 2;
const usageLength = 72;
const usageAt = { bytes: 16, inodes: 40 } as const;

function readAttributes(directory: number): DataView {
  const attributes = new Uint8Array(attributesLength);
  if (libc().ioctl(directory, getAttributes, attributes) !== 0) throw toError('ioctl', libc().errno());
  return new DataView(attributes.buffer);
}

/** Returns the project that files and directories created in this directory get; 0: none. */
export function inheritedProject(directory: number): number {
  const attributes = readAttributes(directory);
  return (attributes.getUint32(attributeAt.flags, true) & inheritFlag) === 0 ? 0 : attributes.getUint32(attributeAt.project, true);
}

/** Sets the project of the directory itself, and of what is created in it. */
export function setInheritedProject(directory: number, project: number): void {
  const attributes = readAttributes(directory);
  attributes.setUint32(attributeAt.flags, attributes.getUint32(attributeAt.flags, true) | inheritFlag, true);
  attributes.setUint32(attributeAt.project, project, true);
  if (libc().ioctl(directory, setAttributes, new Uint8Array(attributes.buffer)) !== 0) throw toError('ioctl', libc().errno());
}

/** Returns the usage of a project on the filesystem of `fd`. Throws ESRCH when that filesystem does not count projects. */
export function projectUsage(fd: number, project: number): ProjectUsage {
  const usage = new Uint8Array(usageLength);
  if (libc().syscall(quotactlFd, fd, getProjectQuota, project, usage) !== 0) {
    const err = toError('quotactl_fd', libc().errno());
    // XFS has no record of a project without files.
    if (err.code === 'ENOENT') return { bytes: 0, inodes: 0 };
    throw err;
  }
  const view = new DataView(usage.buffer);
  return { bytes: Number(view.getBigUint64(usageAt.bytes, true)), inodes: Number(view.getBigUint64(usageAt.inodes, true)) };
}
