/** Reads the quota projects of volumes from /etc/projects. The sync pool has assigned them. */
import { lstatSync, readFileSync } from 'node:fs';
import { projectsByDirectory } from '../../../shared/linux/project-files.ts';

/** The same limit as the sync pool's (change-project-files.ts). */
const maxFileBytes = 2 * 1024 * 1024;
const none: ReadonlyMap<string, number> = new Map();

/** @param file empty: nothing is read. Without a readable file there are no projects, and the volumes are walked. */
export function readProjects(file: string): ReadonlyMap<string, number> {
  if (file === '') return none;
  try {
    const stats = lstatSync(file);
    return stats.isFile() && stats.size <= maxFileBytes ? projectsByDirectory(readFileSync(file, 'utf8')) : none;
  } catch {
    return none;
  }
}
