/** A container's log: a regular file below the pods' log folder, wherever the runtime's path and the links on it lead. */
import { realpath } from 'node:fs/promises';
import { isWithin } from '../linux/mountinfo.ts';
import { openChecked, type OpenedFile } from '../linux/open-checked.ts';

/** Rejects with the system's error, or one that says what is wrong with the place. */
export async function openLog(path: string, podLogsDir: string): Promise<OpenedFile> {
  const root = await realpath(podLogsDir);
  return openChecked(path, ({ realPath, stats }) => {
    if (!stats.isFile()) throw new Error('it is not a regular file');
    if (!isWithin(realPath, root)) throw new Error(`it lies outside of ${root}`);
  });
}
