/** Removes the links in /var/log/containers that point into a log folder that will be removed. */
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const hostContainerLogs = '/var/log/containers';

/** @param containerLogs tests use another folder */
export function removeLogLinks(podLogs: string, containerLogs = hostContainerLogs): void {
  if (!existsSync(containerLogs)) return;
  for (const name of readdirSync(containerLogs)) {
    const path = join(containerLogs, name);
    if (targetOf(path)?.startsWith(`${podLogs}/`)) rmSync(path, { force: true });
  }
}

/** Returns undefined when the path is not a link, or when another kubelet of this host has removed it meanwhile. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (err) {
    if (['EINVAL', 'ENOENT'].includes((err as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw err;
  }
}
