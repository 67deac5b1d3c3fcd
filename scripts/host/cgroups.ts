/** Removes a cgroup in every hierarchy, children first: one is removed as an empty folder. */
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const hierarchies = '/sys/fs/cgroup';

/** False when a process still holds one of them: ask again. */
export function removeCgroup(path: string): boolean {
  const controllers = readdirSync(hierarchies, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [hierarchies, ...controllers.map(({ name }) => join(hierarchies, name))].every((root) => removeBelow(join(root, path)));
}

function removeBelow(path: string): boolean {
  if (!existsSync(path)) return true;
  const children = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  if (!children.every(({ name }) => removeBelow(join(path, name)))) return false;
  try {
    rmdirSync(path);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
