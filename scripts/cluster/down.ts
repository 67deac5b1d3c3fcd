/** `npm run cluster -- down`: removes all that `npm run cluster` made, and says what it leaves. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeCgroup } from '../host/cgroups.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { stopControlPlane } from '../host/control-plane.ts';
import { destroyPrivateContainerd, removeFolder } from '../host/private-containerd.ts';
import { stopDaemon } from '../up/processes.ts';
import { kubelet, place } from './cluster-paths.ts';

if (existsSync(place.folder)) {
  console.log(`==> stopping the kubelet, its pods, containerd and the control plane, and removing ${place.folder}`);
  await stopDaemon(kubelet);
  await Promise.all([stopControlPlane(place.controlPlane), destroyPrivateContainerd(place.containerd)]);
  while (!removeCgroup(place.cgroupRoot)) await sleep(50);
  removeLogLinks(place.podLogs);
  removeFolder(place.folder);
}
console.log('==> done. Left in place: .cache (the built control plane with its Go, and images), dist, node_modules, the Debian packages');
