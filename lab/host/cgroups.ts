/** Creates and removes a cgroup in every hierarchy. */
import { existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const hierarchies = '/sys/fs/cgroup';

/** Idempotent. Uses every controller's hierarchy on cgroup v1 and the unified hierarchy on v2. */
export function createCgroup(path: string): void {
  const unified = existsSync(join(hierarchies, 'cgroup.controllers'));
  for (const root of unified ? [hierarchies] : controllers()) mkdirSync(join(root, path), { recursive: true });
}

/** Removes the cgroup and its children. Returns false while a process is in one of them; the caller retries. */
export function removeCgroup(path: string): boolean {
  return [hierarchies, ...controllers()].every((root) => removeBelow(join(root, path)));
}

/** Retries, because the last processes may not be reaped yet. Returns false when one is still in the cgroup after the time. */
export async function removeCgroupWithin(path: string, timeoutMs: number): Promise<boolean> {
  const endMs = performance.now() + timeoutMs;
  while (!removeCgroup(path)) {
    if (performance.now() > endMs) return false;
    await sleep(50);
  }
  return true;
}

/** cgroup v1 has a folder per controller. Links to folders that controllers share are skipped. */
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
