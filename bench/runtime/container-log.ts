/**
 * A container's log file in the CRI format (`<RFC 3339 time> stdout F <line>`). Like a real runtime it keeps the file open: a file that
 * was moved away by a rotation goes on being written until ReopenContainerLog.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

export class ContainerLog {
  readonly #path: string;
  #fd: number | undefined;

  /** Throws when the file cannot be made: containerd then refuses to start the container. The folder must be there. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'a', 0o640);
  }

  reopen(): void {
    const fd = openSync(this.#path, 'a', 0o640);
    this.close();
    this.#fd = fd;
  }

  /** A full disk loses the line, as it does with containerd: the container does not notice. */
  write(line: string, stream: 'stdout' | 'stderr' = 'stdout'): void {
    if (this.#fd === undefined) return;
    try {
      writeSync(this.#fd, `${new Date().toISOString().replace('Z', '000000Z')} ${stream} F ${line}\n`);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOSPC') throw err;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
