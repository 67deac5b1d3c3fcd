/**
 * Writes log lines to a file descriptor, synchronously and from any thread. Waits for a slow reader, as a blocking write does (another process may have made
 * the pipe non-blocking). Drops the line when the reader is gone or the disk is full.
 */
import { writeSync } from 'node:fs';

/** `fs.writeSync`, or a fake. Returns the number of bytes written. */
export type Write = (fd: number, bytes: Uint8Array, offset: number) => number;

/** The delays between two attempts to write to a full pipe. The first is short, because a reader usually catches up soon. */
const firstWaitMs = 1;
const longestWaitMs = 50;

export class LineWriter {
  readonly #write: Write;
  readonly #wait: (ms: number) => void;
  #lostLines = 0;

  constructor(write: Write = writeSync, wait: (ms: number) => void = pause) {
    this.#write = write;
    this.#wait = wait;
  }

  /** The number of dropped lines since the last successful write. */
  get lost(): number {
    return this.#lostLines;
  }

  /** Writes the whole line, or drops it. Never throws. */
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
          this.#lostLines += 1;
          return;
        }
        this.#wait(waitMs);
        waitMs = Math.min(waitMs * 2, longestWaitMs);
      }
    }
    this.#lostLines = 0;
  }
}

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

function pause(ms: number): void {
  Atomics.wait(neverNotified, 0, 0, ms);
}
