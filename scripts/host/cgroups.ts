/** Makes and removes a cgroup in every hierarchy. One is made and removed as a folder, children removed first. */
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const hierarchies = '/sys/fs/cgroup';

/** Idempotent. On v1 in the hierarchy of every controller, on v2 in the only one. */
export function makeCgroup(path: string): void {
  const unified = existsSync(join(hierarchies, 'cgroup.controllers'));
  for (const root of unified ? [hierarchies] : controllers()) mkdirSync(join(root, path), { recursive: true });
}

/** False when a process still holds one of them: ask again. */
export function removeCgroup(path: string): boolean {
  return [hierarchies, ...controllers()].every((root) => removeBelow(join(root, path)));
}

/** v1 has a folder for each; some are links to the folder that two share. */
function controllers(): string[] {
  return readdirSync(hierarchies, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(hierarchies, name));
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
