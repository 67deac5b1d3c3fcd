/**
 * Listens on a Unix socket. The socket is bound under another name and then renamed, so that it replaces the socket of an earlier process, and
 * an exiting process does not remove the socket of its successor. Upstream: CreateListener in k8s.io/cri-client.
 */
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';

export interface UnixSocketOptions {
  readonly path: string;
  /** The mode of the folder if it has to be created. */
  readonly folderMode: number;
  /** Undefined: the mode that the umask of the process leaves. */
  readonly socketMode?: number;
}

/** The size of sun_path in Linux's sockaddr_un, less the byte that ends it. */
const maxPathBytes = 107;

/** Rejects when the path is too long for a socket, or the folder or the socket cannot be created. */
export async function bindUnixSocket(server: Server, { path, folderMode, socketMode }: UnixSocketOptions): Promise<void> {
  const folder = dirname(path);
  const temporaryPath = join(folder, `${process.pid}.sock`);
  const length = Math.max(Buffer.byteLength(path), Buffer.byteLength(temporaryPath));
  if (length > maxPathBytes) throw new Error(`${path}: a socket's path has at most ${maxPathBytes} bytes, this one needs ${length}`);
  await mkdir(folder, { recursive: true, mode: folderMode });
  await rm(temporaryPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ path: temporaryPath }, () => resolve());
  });
  // A later error, such as a failed accept, must not end the thread.
  server.removeAllListeners('error').on('error', () => {});
  if (socketMode !== undefined) await chmod(temporaryPath, socketMode);
  await rename(temporaryPath, path);
}
