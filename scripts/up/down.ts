/** `npm run down`: removes all that `npm run up` made, in both its kinds, and says what it leaves. */
import { existsSync, lstatSync, readdirSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { destroyPrivateContainerd, removeFolder } from '../host/private-containerd.ts';
import { placeOf, project, type Place } from './place.ts';
import { stopDaemon } from './processes.ts';

const containerLogs = '/var/log/containers';

for (const place of [placeOf(false), placeOf(true)]) {
  if (!existsSync(place.folder)) continue;
  console.log(`==> stopping the kubelet and removing ${place.folder}`);
  await stopDaemon({ pidFile: place.kubeletPid, mark: place.kubeletConfig });
  await stopDaemon({ pidFile: join(place.folder, 'runtime.pid'), mark: place.simulatedSocket });
  if (!place.simulate) {
    await destroyPrivateContainerd(place.containerd);
    removeCgroups(place);
    removeLogLinks(place);
  }
  removeFolder(place.folder);
}
for (const made of ['.cache', 'dist']) rmSync(join(project, made), { recursive: true, force: true });
console.log('==> done. Left in place: the Debian packages, and node_modules');

/** A cgroup is removed as an empty folder, children first. */
function removeCgroups({ cgroupRoot }: Place): void {
  const mounts = readdirSync('/sys/fs/cgroup', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const root of ['/sys/fs/cgroup', ...mounts.map(({ name }) => join('/sys/fs/cgroup', name))]) removeCgroup(root + cgroupRoot);
}

function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  rmdirSync(path);
}

function removeLogLinks({ podLogs }: Place): void {
  if (!existsSync(containerLogs)) return;
  for (const name of readdirSync(containerLogs)) {
    const path = join(containerLogs, name);
    if (lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith(`${podLogs}/`)) rmSync(path);
  }
}
