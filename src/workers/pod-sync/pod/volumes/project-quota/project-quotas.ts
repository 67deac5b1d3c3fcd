/**
 * Gives each new volume on disk of a pod in a user namespace a project of its own, so that the filesystem counts what the volume uses (gate
 * LocalStorageCapacityIsolationFSQuotaMonitoring; upstream pkg/volume/util/fsquota). Nothing is limited by it: the stats thread reads the usage. Owns the
 * lines of volumes in /etc/projects and /etc/projid. Called by the set-up and the removal of volumes.
 *
 * A volume without a project is walked. So no failure here fails a pod.
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
/** The filesystem, the kernel or the mount does not count projects. */
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
   * Must be called before a container sees the volume. Without a user namespace a container could change the projects of its files. What is in a
   * directory already would not be counted, so only an empty one gets a project.
   */
  async assign(pod: Pod, directory: string, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#options.enabled || pod.spec.hostUsers !== false || directory.includes('\n')) return;
    let fd: number | undefined;
    try {
      fd = openSync(directory, openFlags);
      if (readdirSync(directory).length > 0) return;
      const volume = fd;
      const hasFiles = (id: number) => projectUsage(volume, id).inodes > 0;
      // Throws where projects are not counted, before any file is changed.
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

  /** Removes the lines of a pod's volumes, also those of an earlier kubelet. The projects may have files for some time: they are not given to others meanwhile. */
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
