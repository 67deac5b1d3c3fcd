/** The paths and ports of `npm run up`. All files are in one folder, so that `npm run down` can remove it. */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

export interface UpPaths {
  readonly simulate: boolean;
  /** Contains all other paths. Must be short: a socket's path is limited to 108 bytes. */
  readonly folder: string;
  readonly containerd: string;
  readonly simulatedSocket: string;
  readonly kubeletConfig: string;
  readonly kubeletRoot: string;
  readonly kubeletLog: string;
  readonly kubeletPid: string;
  readonly podLogs: string;
  readonly cgroupRoot: string;
  readonly readOnlyPort: number;
  readonly healthzPort: number;
  /** Built images, reused between runs. */
  readonly imageCache: string;
  readonly examples: string;
}

export const project = join(import.meta.dirname, '../..');

export function upPaths(simulate: boolean): UpPaths {
  const folder = simulate ? join(tmpdir(), `kubelet-up-${userInfo().uid}`) : '/var/lib/kubelet-up';
  return {
    simulate,
    folder,
    containerd: join(folder, 'containerd'),
    simulatedSocket: join(folder, 'runtime.sock'),
    kubeletConfig: join(folder, 'kubelet.yaml'),
    kubeletRoot: join(folder, 'kubelet'),
    kubeletLog: join(folder, 'kubelet.log'),
    kubeletPid: join(folder, 'kubelet.pid'),
    podLogs: join(folder, 'pod-logs'),
    cgroupRoot: '/kubelet-up',
    // Differs from the standard 10255 and 10248, because another kubelet may run on this host.
    readOnlyPort: simulate ? 10457 : 10455,
    healthzPort: simulate ? 10450 : 10448,
    imageCache: join(project, '.cache/images'),
    examples: join(project, 'examples'),
  };
}
