/** The host's cgroup version and the configured cgroup driver, read once at start for the threads and the admission. */
import { readCgroupVersion } from '../../process/host-settings.ts';

export interface CgroupSettings {
  readonly cgroupVersion: 1 | 2;
  /** The configured driver. A driver reported by the runtime takes precedence (shared/cgroups/runtime-cgroup-driver.ts). */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
}

/** The mount point of the cgroup hierarchy on every host set up by systemd or a container runtime. */
export const cgroupFsRoot = '/sys/fs/cgroup';

export function readCgroupSettings(configuredDriver: string): CgroupSettings {
  return { cgroupVersion: readCgroupVersion(cgroupFsRoot), cgroupDriver: configuredDriver === 'systemd' ? 'systemd' : 'cgroupfs' };
}
