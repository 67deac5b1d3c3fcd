/** Removes the links in /var/log/containers that lead into a log folder which is going away. */
import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const containerLogs = '/var/log/containers';

export function removeLogLinks(podLogs: string): void {
  if (!existsSync(containerLogs)) return;
  for (const name of readdirSync(containerLogs)) {
    const path = join(containerLogs, name);
    if (lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith(`${podLogs}/`)) rmSync(path);
  }
}
