/**
 * Writes log lines to a file descriptor, synchronously and from any thread. A slow reader is waited for, as a blocking write would
 * (a pipe may be non-blocking, because somebody else made it so); a reader that is gone, or a full disk, costs the line and never
 * the kubelet.
 */
import { writeSync } from 'node:fs';

/** `fs.writeSync`, or a test's. Returns how many bytes were taken. */
export type Write = (fd: number, bytes: Uint8Array, offset: number) => number;

/** Between two tries at a full pipe: short at first, since a reader is usually only a moment behind. */
const firstWaitMs = 1;
const longestWaitMs = 50;

export class LineWriter {
  readonly #write: Write;
  readonly #wait: (ms: number) => void;
  #lost = 0;

  constructor(write: Write = writeSync, wait: (ms: number) => void = pause) {
    this.#write = write;
    this.#wait = wait;
  }

  /** How many lines could not be written since the last that could. */
  get lost(): number {
    return this.#lost;
  }

  /** Writes the whole line, or loses it whole where nobody can be told. Never throws. */
  writeLine(fd: number, line: string): void {
    const bytes = Buffer.from(line);
    let waitMs = firstWaitMs;
    for (let offset = 0; offset < bytes.length;) {
      try {
        offset += this.#write(fd, bytes, offset);
        waitMs = firstWaitMs;
      } catch (err) {
        const code = (err as NodeJS.ErrnoException).code;
        if (code !== 'EAGAIN' && code !== 'EINTR') {
          this.#lost += 1;
          return;
        }
        this.#wait(waitMs);
        waitMs = Math.min(waitMs * 2, longestWaitMs);
      }
    }
    this.#lost = 0;
  }
}

const nobody = new Int32Array(new SharedArrayBuffer(4));

function pause(ms: number): void {
  Atomics.wait(nobody, 0, 0, ms);
}
