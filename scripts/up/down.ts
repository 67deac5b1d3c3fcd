/** `npm run down`: removes everything that `npm run up` created, with and without `--simulate`, and prints what is kept. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { destroyPrivateContainerd } from '../../lab/containerd/private-containerd.ts';
import { removeFolder } from '../../lab/host/remove-folder.ts';
import { upPaths, project } from './up-paths.ts';
import { stopDaemon } from '../../lab/host/daemon.ts';

for (const paths of [upPaths(false), upPaths(true)]) {
  if (!existsSync(paths.folder)) continue;
  console.log(`==> stopping the kubelet and removing ${paths.folder}`);
  await paths.kubelet.stop();
  await stopDaemon(paths.simulatedRuntime);
  if (!paths.simulate) {
    await destroyPrivateContainerd(paths.containerd);
    await paths.kubelet.removeTraces(paths.cgroupRoot);
  }
  removeFolder(paths.folder);
}
for (const path of ['dist', '.cache']) rmSync(join(project, path), { recursive: true, force: true });
console.log("==> done. Kept: the Debian packages, node_modules, and the user's cache folder, which npm run cache lists and empties");
