/**
 * Opens container logs. The runtime reports the path, and pods may place symlinks on it, so the opened file must be a regular
 * file below the pod log directory.
 */
import { realpath } from 'node:fs/promises';
import { isWithin } from '../linux/mountinfo.ts';
import { openChecked, type OpenedFile } from '../linux/open-checked.ts';

/** Rejects with the system's error, or with an error that describes the unsafe path. */
export async function openLog(path: string, podLogsDir: string): Promise<OpenedFile> {
  const root = await realpath(podLogsDir);
  return openChecked(path, ({ realPath, stats }) => {
    if (!stats.isFile()) throw new Error('it is not a regular file');
    if (!isWithin(realPath, root)) throw new Error(`it lies outside of ${root}`);
  });
}
