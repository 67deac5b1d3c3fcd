/** Where `npm run cluster` keeps what it makes, and where its kubelet listens: one folder, so that `down` can remove it all. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Daemon } from '../up/processes.ts';

export const project = join(import.meta.dirname, '../..');

/** Short: a socket's path has 108 bytes. */
const folder = '/var/lib/kubelet-cluster';

export const place = {
  folder,
  containerd: join(folder, 'containerd'),
  controlPlane: join(folder, 'control-plane'),
  kubeletConfig: join(folder, 'kubelet.yaml'),
  kubeletRoot: join(folder, 'kubelet'),
  kubeletLog: join(folder, 'kubelet.log'),
  staticPods: join(folder, 'manifests'),
  podLogs: join(folder, 'pod-logs'),
  cgroupRoot: '/kubelet-cluster',
  /** Two steps beside the standard 10250 and 10248: another kubelet may live here, and that of `npm run up`. */
  kubeletPort: 10650,
  healthzPort: 10648,
  nodeName: hostname().toLowerCase(),
} as const;

export const kubelet: Daemon = { pidFile: join(folder, 'kubelet.pid'), mark: place.kubeletConfig };
