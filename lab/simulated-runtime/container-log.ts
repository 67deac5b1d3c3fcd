/**
 * A container's log file in the CRI format (`<RFC 3339 time> stdout F <line>`). Keeps the file open, as a real runtime does: a rotated file
 * is written until ReopenContainerLog.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

export class ContainerLog {
  readonly #path: string;
  #fd: number | undefined;

  /** Throws when the file can not be created, for example because its folder is missing. containerd then refuses to start the container. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, 'a', 0o640);
  }

  reopen(): void {
    const fd = openSync(this.#path, 'a', 0o640);
    this.close();
    this.#fd = fd;
  }

  /** Drops the line when the disk is full, as containerd does. */
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
