/** Creates the manager of a cgroup driver. */
import type { CgroupDriver } from '../../../shared/cgroups/cgroup-names.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { CgroupfsManager, type CgroupManager, type CgroupManagerOptions } from './cgroup-manager.ts';

/** Loads the D-Bus library only for the driver that needs it. */
export async function createCgroupManager(
  driver: CgroupDriver,
  options: CgroupManagerOptions & { readonly clock: Clock },
): Promise<CgroupManager> {
  if (driver === 'cgroupfs') return new CgroupfsManager(options);
  const { SystemdClient, SystemdManager } = await import('./systemd/index.ts');
  return new SystemdManager(options, new SystemdClient(options));
}
