/** The paths and ports of `npm run up`. All files are in one folder, so that `npm run down` can remove it. */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Daemon } from '../../lab/host/daemon.ts';
import { DetachedKubelet } from '../../lab/kubelet/detached-kubelet.ts';

export interface UpPaths {
  readonly simulate: boolean;
  /** Contains all other paths. Must be short: a socket's path is limited to 108 bytes. */
  readonly folder: string;
  readonly containerd: string;
  readonly simulatedSocket: string;
  readonly simulatedRuntime: Daemon;
  readonly kubelet: DetachedKubelet;
  readonly cgroupRoot: string;
  readonly readOnlyPort: number;
  readonly healthzPort: number;
  readonly examples: string;
}

export const project: string = join(import.meta.dirname, '../..');

export function upPaths(simulate: boolean): UpPaths {
  const folder = simulate ? join(tmpdir(), `kubelet-up-${userInfo().uid}`) : '/var/lib/kubelet-up';
  const simulatedSocket = join(folder, 'runtime.sock');
  return {
    simulate,
    folder,
    containerd: join(folder, 'containerd'),
    simulatedSocket,
    simulatedRuntime: { pidFile: join(folder, 'runtime.pid'), commandLineMark: simulatedSocket },
    kubelet: new DetachedKubelet(folder),
    cgroupRoot: '/kubelet-up',
    // Differs from the standard 10255 and 10248, because another kubelet may run on this host.
    readOnlyPort: simulate ? 10457 : 10455,
    healthzPort: simulate ? 10450 : 10448,
    examples: join(project, 'examples'),
  };
}
