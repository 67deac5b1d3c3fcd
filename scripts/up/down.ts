/** `npm run down`: removes all that `npm run up` made, in both its kinds, and says what it leaves. */
import { existsSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeCgroup } from '../host/cgroups.ts';
import { removeLogLinks } from '../host/log-links.ts';
import { destroyPrivateContainerd, removeFolder } from '../host/private-containerd.ts';
import { placeOf, project } from './up-paths.ts';
import { stopDaemon } from './processes.ts';

for (const place of [placeOf(false), placeOf(true)]) {
  if (!existsSync(place.folder)) continue;
  console.log(`==> stopping the kubelet and removing ${place.folder}`);
  await stopDaemon({ pidFile: place.kubeletPid, mark: place.kubeletConfig });
  await stopDaemon({ pidFile: join(place.folder, 'runtime.pid'), mark: place.simulatedSocket });
  if (!place.simulate) {
    await destroyPrivateContainerd(place.containerd);
    while (!removeCgroup(place.cgroupRoot)) await sleep(50);
    removeLogLinks(place.podLogs);
  }
  removeFolder(place.folder);
}
// The control plane of `npm run cluster`, and the Go that built it, are not its to remove: they take ten minutes.
const isKept = (path: string) => /^\.cache\/(?:control-plane-v|go-)[0-9.]+$/.test(path);
const made = ['dist', ...globSync('.cache/*', { cwd: project }).filter((path) => !isKept(path))];
for (const path of made) rmSync(join(project, path), { recursive: true, force: true });
console.log('==> done. Left in place: the Debian packages, node_modules, and the control plane, where one was built, with its Go');
