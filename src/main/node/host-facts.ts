/** What of the host decides how pods are run on it: the version of its cgroups, and who drives them. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimeFacts } from '../../shared/contracts/pleg.ts';

export interface HostFacts {
  readonly cgroupVersion: 1 | 2;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
}

/** Where the cgroup hierarchy is mounted, on every host that systemd or a container runtime has set up. */
export const cgroupFsRoot = '/sys/fs/cgroup';

/** The runtime's own word on the cgroup driver goes before the configuration's. */
export async function hostFacts(configuredDriver: string, runtime: Pick<RuntimeFacts, 'cgroupDriver'>): Promise<HostFacts> {
  const isV2 = await access(join(cgroupFsRoot, 'cgroup.controllers')).then(
    () => true,
    () => false,
  );
  const configured = configuredDriver === 'systemd' ? 'systemd' : 'cgroupfs';
  return { cgroupVersion: isV2 ? 2 : 1, cgroupDriver: runtime.cgroupDriver ?? configured };
}
