/**
 * The life signs of every thread, in one buffer: `/healthz` is made of them. Two tables with a row for each thread. `lives` is
 * written by main (it starts the threads and sees them die), `beats` by the thread itself, each its own row.
 */
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';
import { f64, i32, text, u32, u8, type Row } from './table-layout.ts';

const livesFields = {
  thread: text(32),
  /** Main has started it, and has not seen it end. */
  alive: u8,
  /** Monotonic ms of the last start. */
  startedAtMs: f64,
  starts: u32,
  deaths: u32,
  lastExitCode: i32,
  /** The first line of the error that it died of; empty when there was none. */
  lastError: text(200),
  /** Older than this, its loop is unhealthy; 0: it has none to watch. */
  loopStaleAfterMs: f64,
};
const beatsFields = {
  /** Monotonic ms of the last beat: one each second. */
  beatAtMs: f64,
  /** How late the last beat came: what its event loop makes others wait. */
  eventLoopDelayMs: f64,
  /** Monotonic ms at which the thread's own loop last came round (main: the sync loop; pleg: a relist); 0: never yet. */
  loopAtMs: f64,
};
const lives = defineTable('lives', livesFields);
const beats = defineTable('beats', beatsFields);

export type ThreadStatus = Row<typeof livesFields>;
export type Beat = Row<typeof beatsFields>;

export interface ThreadHealth extends ThreadStatus {
  readonly row: number;
  /** Undefined: it has not beaten in this life, or ever. */
  readonly beat: Beat | undefined;
}

export interface WatchedThread {
  readonly thread: string;
  readonly loopStaleAfterMs?: number;
}

/** A buffer with a row for each thread, in this order; none is alive. */
export function createHeartbeats(threads: readonly WatchedThread[]): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(lives.bytes(threads.length) + beats.bytes(threads.length));
  lives.create(threads.length, buffer);
  beats.create(threads.length, buffer, lives.bytes(threads.length));
  const writer = lives.writer(buffer);
  threads.forEach(({ thread, loopStaleAfterMs = 0 }) => {
    writer.insert({ thread, alive: 0, startedAtMs: 0, starts: 0, deaths: 0, lastExitCode: 0, lastError: '', loopStaleAfterMs });
  });
  return buffer;
}

/** Main's half. */
export class ThreadStatusWriter {
  readonly #lives: TableWriter<typeof livesFields>;
  constructor(buffer: SharedArrayBuffer) {
    this.#lives = lives.writer(buffer);
  }

  /** The row of a thread by name; throws when there is none. */
  rowOf(thread: string): number {
    for (const [row, life] of this.#lives.rows()) if (life.thread === thread) return row;
    throw new Error(`there is no heartbeat row for a thread "${thread}"`);
  }

  started(row: number, nowMs: number): void {
    this.#lives.update(row, { alive: 1, startedAtMs: nowMs, starts: this.#lives.peek(row, 'starts') + 1 });
  }

  /** An end that was asked for: neither alive nor a death. */
  stopped(row: number): void {
    this.#lives.update(row, { alive: 0 });
  }

  died(row: number, exitCode: number, error: string): void {
    const [line = ''] = error.split('\n', 1);
    // 50 characters are at most 200 bytes of UTF-8.
    const lastError = Buffer.byteLength(line) <= livesFields.lastError.width ? line : `${line.slice(0, 49)}…`;
    this.#lives.update(row, { alive: 0, deaths: this.#lives.peek(row, 'deaths') + 1, lastExitCode: exitCode, lastError });
  }
}

/** A thread's half: its own row and no other. */
export class HeartbeatWriter {
  readonly #beats: TableWriter<typeof beatsFields>;
  readonly #row: number;
  constructor(buffer: SharedArrayBuffer, row: number) {
    this.#beats = beats.writer(buffer, lives.bytes(lives.reader(buffer).capacity), [row]);
    this.#row = row;
  }

  /** Written whole: the row may still hold the predecessor's. */
  beat(nowMs: number, eventLoopDelayMs: number): void {
    const loopAtMs = this.#beats.inUse(this.#row) ? this.#beats.peek(this.#row, 'loopAtMs') : 0;
    this.#beats.put(this.#row, { beatAtMs: nowMs, eventLoopDelayMs, loopAtMs });
  }

  /** The thread's own loop came round. */
  loop(nowMs: number): void {
    if (this.#beats.inUse(this.#row)) this.#beats.update(this.#row, { loopAtMs: nowMs });
    else this.#beats.put(this.#row, { beatAtMs: nowMs, eventLoopDelayMs: 0, loopAtMs: nowMs });
  }
}

/** Anyone's: every thread as it stands, in the order of the rows. */
export class HeartbeatsReader {
  readonly #lives: TableReader<typeof livesFields>;
  readonly #beats: TableReader<typeof beatsFields>;
  constructor(buffer: SharedArrayBuffer) {
    this.#lives = lives.reader(buffer);
    this.#beats = beats.reader(buffer, lives.bytes(this.#lives.capacity));
  }

  threads(): ThreadHealth[] {
    return Array.from(this.#lives.rows(), ([row, life]) => {
      const beat = this.#beats.read(row);
      return { ...life, row, beat: beat && beat.beatAtMs >= life.startedAtMs ? beat : undefined };
    });
  }
}
