/** Where the kubelet's local socket is, for the server thread and for the commands `kubelet timeline`, `image-gc` and `eviction`. */
import { join } from 'node:path';

export const localSocketName = 'kubelet.sock';

/** The folder is named after the first command that had a socket: a newer command reaches an older kubelet. */
export function localSocketDir(rootDir: string): string {
  return join(rootDir, 'timeline');
}

export function localSocketPath(rootDir: string): string {
  return join(localSocketDir(rootDir), localSocketName);
}
