/** The usage of a directory whose content the filesystem counts, because it has a project of its own. */
import { inheritedProject, projectUsage, type ProjectUsage } from '../linux/project-quota.ts';
import { closeDirectoryFd, openRoot } from './tree-calls.ts';

/** Null: the directory has another project, or none, or the filesystem does not count it. It must be walked. */
export function usageOfProject(path: string, project: number): ProjectUsage | null {
  let directory: number | undefined;
  try {
    directory = openRoot(path);
    return inheritedProject(directory) === project ? projectUsage(directory, project) : null;
  } catch {
    // The walk reports what is wrong with the directory.
    return null;
  } finally {
    if (directory !== undefined) closeDirectoryFd(directory);
  }
}
