/**
 * Gives each new volume on disk of a pod in a user namespace a project of its own, so that the filesystem counts what the volume uses (gate
 * LocalStorageCapacityIsolationFSQuotaMonitoring; upstream pkg/volume/util/fsquota). The project sets no limit: the stats thread reads its usage. Owns the
 * lines of volumes in /etc/projects and /etc/projid. Called by the set-up and the removal of volumes.
 *
 * No failure here fails a pod: the stats thread measures a volume without a project by walking its files.
 */
import { closeSync, constants, openSync, readdirSync } from 'node:fs';
import { messageOf } from '../../../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../../../shared/kubernetes/api.ts';
import { addDirectory, removeDirectoriesBelow } from '../../../../../shared/linux/project-files.ts';
import { projectUsage, setInheritedProject } from '../../../../../shared/linux/project-quota.ts';
import type { Logger } from '../../../../../shared/log/logger.ts';
import { changeProjectFiles, mayHaveDirectoriesBelow, type ProjectFilePaths } from './change-project-files.ts';

export interface ProjectQuotasOptions {
  readonly enabled: boolean;
  readonly logger: Logger;
  /** Replaced in tests. */
  readonly paths?: ProjectFilePaths;
}

const openFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const systemPaths: ProjectFilePaths = { projects: '/etc/projects', projid: '/etc/projid' };
/** Errors that mean that the filesystem, the kernel or the mount does not count projects. */
const unsupportedCodes = new Set(['ENOTTY', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'ESRCH', 'EINVAL']);

export class ProjectQuotas {
  readonly #options: ProjectQuotasOptions;
  readonly #paths: ProjectFilePaths;
  #hasLogged = false;

  constructor(options: ProjectQuotasOptions) {
    this.#options = options;
    this.#paths = options.paths ?? systemPaths;
  }

  /**
   * Gives the volume's directory a project. Must be called before a container sees the volume. A pod without a user namespace gets no project: its containers
   * could change the projects of their files. Only an empty directory gets a project, since existing files would not be counted.
   */
  async assign(pod: Pod, directory: string, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#options.enabled || pod.spec.hostUsers !== false || directory.includes('\n')) return;
    let fd: number | undefined;
    try {
      fd = openSync(directory, openFlags);
      if (readdirSync(directory).length > 0) return;
      const volume = fd;
      const hasFiles = (id: number) => projectUsage(volume, id).inodes > 0;
      // Throws if projects are not counted here, before any file is changed.
      hasFiles(0);
      await changeProjectFiles(this.#paths, signal, (files) => {
        const { id, files: changed } = addDirectory(files, directory, hasFiles);
        setInheritedProject(volume, id);
        return changed;
      });
    } catch (err) {
      signal?.throwIfAborted();
      this.#logFailure(err, directory);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /** Removes the lines of a pod's volumes, also those of an earlier kubelet. A project that still has files is not assigned again (`hasFiles`). */
  async release(volumesFolder: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      if (!mayHaveDirectoriesBelow(this.#paths, volumesFolder)) return;
      await changeProjectFiles(this.#paths, signal, (files) => removeDirectoriesBelow(files, volumesFolder));
    } catch (err) {
      signal?.throwIfAborted();
      this.#options.logger.warn({ volumesFolder, err: messageOf(err) }, 'Failed to clear the quotas of volumes');
    }
  }

  #logFailure(err: unknown, path: string): void {
    const { logger } = this.#options;
    const isUnsupported = unsupportedCodes.has((err as NodeJS.ErrnoException).code ?? '');
    if (!isUnsupported) logger.warn({ path, err: messageOf(err) }, 'Failed to assign a quota to a volume: it is walked');
    else if (!this.#hasLogged)
      logger.info({ path, reason: messageOf(err) }, 'The filesystem of volumes does not count projects: volumes are walked');
    this.#hasLogged ||= isUnsupported;
  }
}
