/** Removes the folder of a node, in which processes that have ended may have left mounts. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';

/** Unmounts what is mounted below a folder, deepest first, and removes the folder. */
export function removeFolder(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const mount of mounts.filter((point) => point.startsWith(`${folder}/`)).reverse()) {
    execFileSync('umount', ['-l', mount]);
  }
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
}
