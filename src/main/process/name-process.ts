/**
 * The process's name for `pgrep`, `ps -o comm` and /proc/<pid>/comm, which node agents search for. `process.title` sets it too, but overwrites
 * the command line.
 */
import { writeFileSync } from 'node:fs';

/** Names the main thread, which gives the process its name. The kernel keeps 15 bytes. */
export function nameProcess(name: string): void {
  try {
    writeFileSync('/proc/self/comm', name);
  } catch {
    // Without a writable /proc the process keeps Node's name. Nothing of the kubelet depends on it.
  }
}
