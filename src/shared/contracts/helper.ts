/**
 * The helper process: it does what can hang in the kernel for good (a dead NFS server, a wedged driver), so that the daemon's own few
 * file threads never do. Asked by the pool's threads over the IPC channel of a child process. Every operation may be repeated: done
 * already is a success.
 */

/** What may be asked, with its answer. Plain data. */
export interface HelperOperations {
  /** hostPath: checks the type, makes what may be made. Answers why the check failed, or null. */
  checkHostPath: { request: { path: string; type: string }; reply: { failure: string | null } };
  /** Mounts a new filesystem, unless the right one is there. */
  mountFilesystem: { request: { target: string; fsType: 'tmpfs' | 'hugetlbfs'; source: string; options: string }; reply: null };
  /** `target` has no symlinks. Nothing mounted there is a success, as is a path that leads elsewhere. */
  unmount: { request: { target: string; force: boolean }; reply: null };
  /** Makes the folder below the volume where it is not there, opens it without following a symlink, binds it at the target. */
  bindSubpath: { request: { volumePath: string; subPath: string; target: string }; reply: null };
  /**
   * Removes a tree as removeTree does (shared/linux/remove-tree.ts), for some seconds; what is removed stays so. Answers false when something is
   * left: the request is to be repeated.
   */
  removeTree: { request: { path: string }; reply: { removed: boolean } };
  /** Gives a volume's tree to the fsGroup. */
  changeOwnership: {
    request: { path: string; fsGroup: number; readOnly: boolean; onlyOnRootMismatch: boolean };
    /** Files that would not change are counted, and passed over. */
    reply: { failures: number; firstFailure: string | null };
  };
  /** A file's content, whatever lies behind the path; fails when it is longer. */
  readFile: { request: { volumePath: string; path: string; maxBytes: number }; reply: { content: string } };
  /** Sizes of the filesystem behind a path. */
  statfs: {
    request: { path: string };
    reply: { type: number; capacityBytes: number; availableBytes: number; inodes: number; inodesFree: number };
  };
}

export type HelperOperation = keyof HelperOperations;

export type HelperRequest = {
  [K in HelperOperation]: { readonly id: number; readonly operation: K; readonly request: HelperOperations[K]['request'] };
}[HelperOperation];

export type HelperReply =
  | { readonly id: number; readonly reply: HelperOperations[HelperOperation]['reply'] }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code?: string } };
