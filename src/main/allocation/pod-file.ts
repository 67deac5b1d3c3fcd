/**
 * A small file in each pod's folder that records one kind of exclusive resource of the pod for a restarted kubelet. A write and a removal resolve when
 * they are durable. So after a loss of power no file assigns a resource to a pod that has freed it, and that another pod may have.
 */
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { podDir } from '../../shared/kubernetes/paths.ts';
import { makeFolderDurably, syncFolder, writeDurably } from '../../shared/linux/write-durably.ts';
import { readBoundedFile } from '../../shared/files/read-bounded-file.ts';
import { listPodDirectories } from '../process/pod-directories.ts';

/** A valid file has some hundred bytes. */
const maxPodFileBytes = 4096;

export interface PodFile {
  /** Returns the pods that have a folder, with or without the file. */
  uids(): Promise<readonly PodUID[]>;
  /** Throws an Error for a UID that cannot be the name of a folder. */
  path(uid: PodUID): string;
  /** Resolves with undefined when there is no file, or an empty one. Rejects with the system's error, or for a file that is too large. */
  read(uid: PodUID): Promise<string | undefined>;
  write(uid: PodUID, content: string): Promise<void>;
  /** Idempotent. */
  remove(uid: PodUID): Promise<void>;
}

/** @param name the name of the file: each kind of resource has its own */
export function openPodFile(rootDir: string, name: string): PodFile {
  const path = (uid: PodUID) => join(podDir(rootDir, uid), name);
  return {
    uids: () => listPodDirectories(rootDir),
    path,
    read: async (uid) => {
      try {
        const content = await readBoundedFile(path(uid), maxPodFileBytes);
        return content.length === 0 ? undefined : content.toString();
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
        return undefined;
      }
    },
    write: async (uid, content) => {
      const folder = dirname(path(uid));
      await makeFolderDurably(folder, 0o750);
      await writeDurably(path(uid), join(folder, `.${name}.tmp`), content);
    },
    remove: async (uid) => {
      try {
        await rm(path(uid));
        await syncFolder(dirname(path(uid)));
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err;
      }
    },
  };
}
