/**
 * The helper process runs file operations that can hang in the kernel (a dead NFS server, a stuck driver), so that they never block the few file
 * threads of the kubelet's own process. The sync pool's threads send requests over the IPC channel of a child process. Every operation is idempotent.
 */

/** The request and the reply of each operation. Plain data. */
export interface HelperOperations {
  /** Checks the type of a hostPath, and creates it if the type allows that. `failure` is the reason of a failed check, or null. */
  checkHostPath: { request: { path: string; type: string }; reply: { failure: string | null } };
  /** Mounts a filesystem, unless one of the same type is already mounted. */
  mountFilesystem: { request: { target: string; fsType: string; source: string; options: string }; reply: null };
  /** `target` has no symlinks. A target that is not mounted, or that leads elsewhere, is a success. */
  unmount: { request: { target: string; force: boolean }; reply: null };
  /**
   * Opens the subPath without following symlinks, and bind-mounts it at the target. When it does not exist, `create` makes it a directory of
   * the volume; without, the target itself is an empty directory.
   */
  bindSubpath: { request: { volumePath: string; subPath: string; target: string; create: boolean }; reply: null };
  /**
   * Removes a tree as removeTree does (shared/linux/remove-tree.ts), for some seconds. `removed` is false when files are left: repeat the
   * request.
   */
  removeTree: { request: { path: string }; reply: { removed: boolean } };
  /** Changes the group of a volume's tree to the fsGroup. Reports the files so far each second, and can be canceled. */
  changeOwnership: {
    request: { path: string; fsGroup: number; readOnly: boolean; onlyOnRootMismatch: boolean };
    /**
     * The walk continues after each failure. `failures` counts the files that could not be changed, such as those of an NFS server that knows no root;
     * `unreadable` is the first file or folder that could not be opened.
     */
    reply: { failures: number; firstFailure: string | null; unreadable: string | null };
  };
  /** Reads a file of any kind. The content is null when it is longer than `maxBytes`. */
  readFile: { request: { volumePath: string; path: string; maxBytes: number }; reply: { content: string | null } };
  /** Reads the sizes of the path's filesystem. */
  statfs: {
    request: { path: string };
    reply: { capacityBytes: number; availableBytes: number; usedBytes: number; inodes: number; inodesFree: number };
  };
  /** Finds out what the path of a local volume is. Rejects for a path that does not exist. */
  inspectVolumeSource: {
    request: { path: string };
    reply: {
      /** Without symlinks. */
      path: string;
      type: 'directory' | 'block' | 'other';
      group: number;
      /** `major:minor` of a block device. */
      device: string | null;
    };
  };
  /**
   * Measures trees one after the other: each for at most `treeCpuMs` of CPU time, and no further tree after `totalCpuMs`. A walk that has not ended is
   * kept, and continues with the next request for its ID; `forget` lists the walks that are no longer needed. The walks block the process, so a helper
   * process that gets this operation gets no other.
   */
  measureTrees: {
    request: { trees: readonly TreeRequest[]; forget: readonly string[]; treeCpuMs: number; totalCpuMs: number };
    /** In the order of the request. The last trees are absent when the time did not suffice for them. */
    reply: { trees: readonly TreeUsage[]; /** The CPU time of the process or thread since its start. */ cpuMs: number };
  };
}

export interface TreeRequest {
  readonly id: string;
  /** A directory. */
  readonly path: string;
  /** False: a walk that does not end is not kept, because too many other walks are. */
  readonly keep: boolean;
  /** The directory's quota project, whose usage the filesystem may know. The tree is walked if the directory has another project. */
  readonly project?: number;
}

export interface TreeUsage {
  readonly id: string;
  /** `begun`: the walk continues with the next request. `stopped`: it did not end, and was not kept. `failed`: the directory can't be opened. */
  readonly outcome: 'done' | 'begun' | 'stopped' | 'failed';
  /** What the walk has found so far. */
  readonly bytes: number;
  readonly inodes: number;
  /** Part of the tree could not be read. */
  readonly isIncomplete: boolean;
  /** The filesystem knew the usage: nothing was walked. */
  readonly isFromQuota?: true;
  /** The CPU time of this request's part of the walk. */
  readonly cpuMs: number;
  /** The error of the outcome `failed`, and its code, such as `ENOENT`. */
  readonly message?: string;
  readonly code?: string;
}

export type HelperOperation = keyof HelperOperations;

export type HelperRequest = {
  [K in HelperOperation]: { readonly id: number; readonly operation: K; readonly request: HelperOperations[K]['request'] };
}[HelperOperation];

/** Nobody needs the request any more. It fails, if its operation can be canceled. */
export interface HelperCancellation {
  readonly id: number;
  readonly isCanceled: true;
}

export type HelperReply =
  | { readonly id: number; readonly reply: HelperOperations[HelperOperation]['reply'] }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code?: string } };

/** How many files a walk has changed. */
export interface HelperProgress {
  readonly id: number;
  readonly files: number;
}
