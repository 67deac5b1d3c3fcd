/** Removes the links in /var/log/containers that lead into a log folder which is going away. */
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const hostContainerLogs = '/var/log/containers';

/** `containerLogs` is another folder in tests. */
export function removeLogLinks(podLogs: string, containerLogs = hostContainerLogs): void {
  if (!existsSync(containerLogs)) return;
  for (const name of readdirSync(containerLogs)) {
    const path = join(containerLogs, name);
    if (targetOf(path)?.startsWith(`${podLogs}/`)) rmSync(path, { force: true });
  }
}

/** Undefined: it is no link, or another kubelet of this host has removed it since it was listed. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (err) {
    if (['EINVAL', 'ENOENT'].includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
}
