/** Where the kubelet's local socket is, for the server thread and for the command `kubelet timeline`. */
import { join } from 'node:path';

export const timelineSocketName = 'kubelet.sock';

export function timelineSocketDir(rootDir: string): string {
  return join(rootDir, 'timeline');
}

export function timelineSocketPath(rootDir: string): string {
  return join(timelineSocketDir(rootDir), timelineSocketName);
}
