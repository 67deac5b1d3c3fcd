/**
 * The links in /var/log/containers that log collectors follow: `<pod>_<namespace>_<container>-<container ID>.log`, each to its
 * container's log (upstream kuberuntime/legacy.go).
 */
import { join } from 'node:path';
import type { ContainerID } from './ids.ts';

/** A file's name has 255 bytes on ext4. */
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
  // The runtime chooses the ID: one with separators must not lead out of the folder.
  const name = `${podName}_${podNamespace}_${containerName}-${containerID}`.replaceAll(/[/\0]/g, '_');
  return join(containerLogsDir, name.slice(0, maxNameLength - suffix.length) + suffix);
}

/** The container's ID at the end of a link's name; undefined where there is none, or where the name was cut. */
export function containerOfLogSymlink(name: string): ContainerID | undefined {
  return /-([0-9a-zA-Z]{6,})\.log$/.exec(name)?.[1] as ContainerID | undefined;
}
