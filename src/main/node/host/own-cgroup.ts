/** The cgroup that the kubelet itself runs in, which /stats/summary shows when `kubeletCgroups` is not set. */
import { readFileSync } from 'node:fs';
import { cgroupOfProcess } from '../../../shared/cgroups/process-cgroup.ts';

/** Empty when it is not known. */
export function ownCgroup(): string {
  try {
    return cgroupOfProcess(readFileSync('/proc/self/cgroup', 'utf8'));
  } catch {
    return '';
  }
}
