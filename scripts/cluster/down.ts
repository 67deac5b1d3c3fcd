/** `npm run cluster -- down`: removes everything that `npm run cluster` created, and prints what is kept. */
import { existsSync } from 'node:fs';
import { stopControlPlane } from '../../lab/control-plane/control-plane.ts';
import { destroyPrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { kubelet, clusterPaths } from './cluster-paths.ts';

if (existsSync(clusterPaths.folder)) {
  console.log(`==> stopping the kubelet, its pods, containerd and the control plane, and removing ${clusterPaths.folder}`);
  await kubelet.stop();
  await Promise.all([stopControlPlane(clusterPaths.controlPlane), destroyPrivateContainerd(clusterPaths.containerd)]);
  await kubelet.removeTraces(clusterPaths.cgroupRoot);
  removeFolder(clusterPaths.folder);
}
console.log(
  '==> done. Kept: dist, node_modules, the Debian packages, images in .cache, and the built control plane with its Go: npm run cache',
);
