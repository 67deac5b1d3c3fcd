/**
 * A small file in the folder of each pod, which brings what the pod holds to the next kubelet. A write resolves when it is durable, and so does a removal:
 * after a loss of power, no file has what another pod may hold by then.
 */
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { podDir } from '../../shared/kubernetes/paths.ts';
import { makeFolderDurably, syncFolder, writeDurably } from '../../shared/linux/write-durably.ts';
import { readBoundedFile } from '../../shared/files/read-bounded-file.ts';
import { listPodDirectories } from '../process/pod-directories.ts';

/** What is held by one pod has some hundred bytes. */
const maxPodFileBytes = 4096;

export interface PodFile {
  /** Returns the pods with a folder, which may have no file. */
  uids(): Promise<readonly PodUID[]>;
  /** Throws an Error for a UID that cannot be the name of a folder. */
  path(uid: PodUID): string;
  /** Undefined: there is no file, or an empty one. Rejects with the system's error, or for a file that is too large. */
  read(uid: PodUID): Promise<string | undefined>;
  write(uid: PodUID, content: string): Promise<void>;
  /** Idempotent. */
  remove(uid: PodUID): Promise<void>;
}

/** @param name no two kinds of what pods hold have the same */
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
