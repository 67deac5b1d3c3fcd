/** Checks whether the kernel can enforce CPU limits. Upstream: validateSystemRequirements and setupNode in pkg/kubelet/cm/container_manager_linux.go. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseMountInfo } from '../../../shared/linux/mountinfo.ts';

/**
 * A kernel for cgroup v1 may be built without CFS_BANDWIDTH. Returns the warning in the condition Ready, or nothing.
 * @param mountTable for tests
 */
export function cpuHardcapErrors(cgroupVersion: 1 | 2, mountTable = '/proc/self/mountinfo'): string[] {
  if (cgroupVersion === 2) return [];
  const mounts = parseMountInfo(readFileSync(mountTable, 'utf8'));
  const cpu = mounts.findLast(({ fsType, superOptions }) => fsType === 'cgroup' && superOptions.includes('cpu'));
  const files = ['cpu.cfs_period_us', 'cpu.cfs_quota_us'];
  return cpu && files.every((file) => existsSync(join(cpu.mountPoint, file))) ? [] : ['CPU hardcapping unsupported'];
}
