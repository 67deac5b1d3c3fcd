/**
 * Keeps when the last shutdown of the node began and ended: in a file that outlives the shutdown, and in the metrics. The Go kubelet reads and
 * writes the same file. Upstream: pkg/kubelet/nodeshutdown/storage.go.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { writeDurably } from '../../shared/linux/write-durably.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { gracefulShutdownEndTime, gracefulShutdownStartTime } from '../../shared/metrics/definitions/node-shutdown.ts';

/** In ms since 1970, as the file has them. */
export interface ShutdownTimes {
  readonly startMs: number;
  /** Null: not ended. */
  readonly endMs: number | null;
}

const fileName = 'graceful_node_shutdown_state';
/** Go's zero time. */
const zeroTime = '0001-01-01T00:00:00Z';

export class ShutdownRecord {
  readonly #path: string;
  readonly #logger: Logger;
  /** One write at a time, in order. */
  #written: Promise<void> = Promise.resolve();

  constructor(rootDir: string, logger: Logger) {
    this.#path = join(rootDir, fileName);
    this.#logger = logger;
  }

  /** Shows the times of the last shutdown. */
  async load(): Promise<void> {
    this.#show({ startMs: 0, endMs: null });
    try {
      const text = await readFile(this.#path, 'utf8');
      const times = decodeTimes(text);
      if (times) this.#show(times);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
      this.#logger.error({ err: messageOf(err) }, 'Failed to load graceful shutdown state');
    }
  }

  /** Resolves when the file is written, or cannot be. */
  store(times: ShutdownTimes): Promise<void> {
    this.#show(times);
    return (this.#written = this.#written.then(() => this.#write(times)));
  }

  async #write(times: ShutdownTimes): Promise<void> {
    try {
      await writeDurably(this.#path, `${this.#path}.tmp`, encodeTimes(times), 0o644);
    } catch (err) {
      this.#logger.error({ err: messageOf(err) }, 'Failed to store graceful shutdown state');
    }
  }

  #show({ startMs, endMs }: ShutdownTimes): void {
    gracefulShutdownStartTime.set(Math.floor(startMs / 1000));
    gracefulShutdownEndTime.set(Math.floor((endMs ?? 0) / 1000));
  }
}

export function encodeTimes({ startMs, endMs }: ShutdownTimes): string {
  return JSON.stringify({ startTime: new Date(startMs).toISOString(), endTime: endMs === null ? zeroTime : new Date(endMs).toISOString() });
}

/** Null: there was no shutdown. Throws when the text is malformed. */
export function decodeTimes(text: string): ShutdownTimes | null {
  const { startTime = zeroTime, endTime = zeroTime } = JSON.parse(text) as { startTime?: string; endTime?: string };
  const startMs = toMs('startTime', startTime);
  return startMs === null ? null : { startMs, endMs: toMs('endTime', endTime) };
}

function toMs(field: string, text: string): number | null {
  if (text === zeroTime) return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`${field} is not a time: ${JSON.stringify(text)}`);
  return ms;
}
