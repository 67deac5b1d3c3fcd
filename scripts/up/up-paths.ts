/** Where `npm run up` keeps what it makes, and on which ports it listens: one folder, so that `npm run down` can remove it all. */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

export interface Place {
  readonly simulate: boolean;
  /** Everything below is in it. Short: a socket's path has 108 bytes. */
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
  /** Built images, kept between runs. */
  readonly imageCache: string;
  readonly examples: string;
}

export const project = join(import.meta.dirname, '../..');

export function placeOf(simulate: boolean): Place {
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
    // A step beside the standard 10255 and 10248: another kubelet may live here.
    readOnlyPort: simulate ? 10457 : 10455,
    healthzPort: simulate ? 10450 : 10448,
    imageCache: join(project, '.cache/images'),
    examples: join(project, 'examples'),
  };
}
