/**
 * Names of the symlinks in /var/log/containers that log collectors read: `<pod>_<namespace>_<container>-<container ID>.log`. Each
 * symlink points to one container's log (upstream kuberuntime/legacy.go).
 */
import { join } from 'node:path';
import type { ContainerID } from '../kubernetes/ids.ts';

/** ext4 limits a file name to 255 bytes. */
const maxNameLength = 255;
const suffix = '.log';

export interface LoggingContainer {
  readonly podName: string;
  readonly podNamespace: string;
  readonly containerName: string;
  readonly containerID: ContainerID;
}

export function containerLogSymlink(
  containerLogsDir: string,
  { podName, podNamespace, containerName, containerID }: LoggingContainer,
): string {
  // The runtime chooses the ID. An ID with separators must not name a path outside the folder.
  const name = `${podName}_${podNamespace}_${containerName}-${containerID}`.replaceAll(/[/\0]/g, '_');
  return join(containerLogsDir, name.slice(0, maxNameLength - suffix.length) + suffix);
}

/** Returns the container ID at the end of a symlink's name, or only its beginning if the name was truncated. Undefined: fewer than six characters are left of it. */
export function containerOfLogSymlink(name: string): ContainerID | undefined {
  return /-([0-9a-zA-Z]{6,})\.log$/.exec(name)?.[1] as ContainerID | undefined;
}
