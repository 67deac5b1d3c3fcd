/** Reads the projects of volumes, which the sync pool has assigned. */
import { lstatSync, readFileSync } from 'node:fs';
import { projectsByDirectory } from '../../../shared/linux/project-files.ts';

/** As the sync pool's. */
const maxFileBytes = 2 * 1024 * 1024;
const none: ReadonlyMap<string, number> = new Map();

/** @param file empty: none is read. A file that can't be read has no projects: the volumes are walked. */
export function readProjects(file: string): ReadonlyMap<string, number> {
  if (file === '') return none;
  try {
    const stats = lstatSync(file);
    return stats.isFile() && stats.size <= maxFileBytes ? projectsByDirectory(readFileSync(file, 'utf8')) : none;
  } catch {
    return none;
  }
}
