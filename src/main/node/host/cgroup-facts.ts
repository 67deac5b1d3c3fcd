/** What of the host decides how pods are run on it: the version of its cgroups, and who drives them. */
import { cgroupVersion } from '../../process/host-settings.ts';

export interface CgroupSettings {
  readonly cgroupVersion: 1 | 2;
  /** As configured: the runtime's own word goes before it, once there is one (shared/state/runtime-cgroup-driver.ts). */
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
}

/** Where the cgroup hierarchy is mounted, on every host that systemd or a container runtime has set up. */
export const cgroupFsRoot = '/sys/fs/cgroup';

export function readCgroupFacts(configuredDriver: string): CgroupSettings {
  return { cgroupVersion: cgroupVersion(cgroupFsRoot), cgroupDriver: configuredDriver === 'systemd' ? 'systemd' : 'cgroupfs' };
}
