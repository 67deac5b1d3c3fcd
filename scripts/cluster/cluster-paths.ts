/** The paths, ports and names of `npm run cluster`. All files are in one folder, so that `down` can remove it. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DetachedKubelet } from '../../lab/kubelet/detached-kubelet.ts';

/** Must be short: a socket's path is limited to 108 bytes. */
const folder = '/var/lib/kubelet-cluster';

export const clusterPaths = {
  folder,
  containerd: join(folder, 'containerd'),
  controlPlane: join(folder, 'control-plane'),
  staticPods: join(folder, 'manifests'),
  cgroupRoot: '/kubelet-cluster',
  /** Differs from the standard 10250 and 10248, and from `npm run up`, because other kubelets may run on this host. */
  kubeletPort: 10650,
  healthzPort: 10648,
  nodeName: hostname().toLowerCase(),
} as const;

export const kubelet: DetachedKubelet = new DetachedKubelet(folder);
