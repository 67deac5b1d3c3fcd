/**
 * The health of all threads in one buffer, the source of `/healthz`. Two tables with a row for each thread: main writes the thread statuses (it starts the
 * threads and sees them exit); each thread writes its own row of the beats.
 */
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';
import { f64, i32, boundedText, u32, u8, type Row } from './table-layout.ts';

const statusFields = {
  thread: boundedText(32),
  /** 1 from the start of the thread until main has seen it exit. */
  alive: u8,
  /** Monotonic ms of the last start. */
  startedAtMs: f64,
  starts: u32,
  deaths: u32,
  lastExitCode: i32,
  /** The first line of the error that ended the thread. Empty if there was none. */
  lastError: boundedText(200),
  /** The thread is unhealthy when the last iteration of its own loop is older than this. 0: not checked. */
  loopStaleAfterMs: f64,
};
const beatsFields = {
  /** Monotonic ms of the last beat. There is one each second. */
  beatAtMs: f64,
  /** The delay of the last beat: how long the thread's event loop was blocked. */
  eventLoopDelayMs: f64,
  /** Monotonic ms of the last iteration of the thread's own loop (main: the sync loop; pleg: a relist). 0: none yet. */
  loopAtMs: f64,
  /** Monotonic ms until which the loop may wait for a program outside of the kubelet, the pause after a failure of that program included. 0: it does not wait. */
  waitsUntilMs: f64,
};
const statuses = defineTable('thread-statuses', statusFields);
const beats = defineTable('beats', beatsFields);

export type ThreadStatus = Row<typeof statusFields>;
export type Beat = Row<typeof beatsFields>;

export interface ThreadHealth extends ThreadStatus {
  readonly row: number;
  /** Undefined: no beat since the thread's last start. */
  readonly beat: Beat | undefined;
}

export interface WatchedThread {
  readonly thread: string;
  readonly loopStaleAfterMs?: number;
}

/** Creates a buffer with a row for each thread, in this order. No thread is alive yet. */
export function createHeartbeats(threads: readonly WatchedThread[]): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(statuses.bytes(threads.length) + beats.bytes(threads.length));
  statuses.create(threads.length, buffer);
  beats.create(threads.length, buffer, statuses.bytes(threads.length));
  const writer = statuses.writer(buffer);
  threads.forEach(({ thread, loopStaleAfterMs = 0 }) => {
    writer.insert({ thread, alive: 0, startedAtMs: 0, starts: 0, deaths: 0, lastExitCode: 0, lastError: '', loopStaleAfterMs });
  });
  return buffer;
}

/** Main's view of the buffer. */
export class ThreadStatusWriter {
  readonly #statuses: TableWriter<typeof statusFields>;
  constructor(buffer: SharedArrayBuffer) {
    this.#statuses = statuses.writer(buffer);
  }

  /** The row of a thread by name; throws when there is none. */
  rowOf(thread: string): number {
    for (const [row, status] of this.#statuses.rows()) if (status.thread === thread) return row;
    throw new Error(`there is no heartbeat row for a thread "${thread}"`);
  }

  started(row: number, nowMs: number): void {
    this.#statuses.update(row, { alive: 1, startedAtMs: nowMs, starts: this.#statuses.peek(row, 'starts') + 1 });
  }

  /** Records an exit that main requested: the thread is not alive, and has not died. */
  stopped(row: number): void {
    this.#statuses.update(row, { alive: 0 });
  }

  died(row: number, exitCode: number, error: string): void {
    const [line = ''] = error.split('\n', 1);
    // 50 characters are at most 200 bytes of UTF-8.
    const lastError = Buffer.byteLength(line) <= statusFields.lastError.width ? line : `${line.slice(0, 49)}…`;
    this.#statuses.update(row, { alive: 0, deaths: this.#statuses.peek(row, 'deaths') + 1, lastExitCode: exitCode, lastError });
  }
}

/** A thread's view of the buffer: it writes its own row only. */
export class HeartbeatWriter {
  readonly #heartbeats: TableWriter<typeof beatsFields>;
  readonly #row: number;
  /** Starts as 0: a wait of the thread's predecessor has ended with the predecessor. */
  #waitsUntilMs = 0;
  constructor(buffer: SharedArrayBuffer, row: number) {
    this.#heartbeats = beats.writer(buffer, statuses.bytes(statuses.reader(buffer).capacity), [row]);
    this.#row = row;
  }

  /** Writes the whole row, which may still have the values of a predecessor. */
  beat(nowMs: number, eventLoopDelayMs: number): void {
    const loopAtMs = this.#heartbeats.inUse(this.#row) ? this.#heartbeats.peek(this.#row, 'loopAtMs') : 0;
    this.#heartbeats.put(this.#row, { beatAtMs: nowMs, eventLoopDelayMs, loopAtMs, waitsUntilMs: this.#waitsUntilMs });
  }

  /** Records an iteration of the thread's own loop. */
  loop(nowMs: number): void {
    this.#waitsUntilMs = 0;
    if (this.#heartbeats.inUse(this.#row)) this.#heartbeats.update(this.#row, { loopAtMs: nowMs, waitsUntilMs: 0 });
    else this.#heartbeats.put(this.#row, { beatAtMs: nowMs, eventLoopDelayMs: 0, loopAtMs: nowMs, waitsUntilMs: 0 });
  }

  /** Records until when the loop may wait for a program outside of the kubelet. 0: it does not wait. */
  waitsUntil(untilMs: number): void {
    this.#waitsUntilMs = untilMs;
    if (this.#heartbeats.inUse(this.#row)) this.#heartbeats.update(this.#row, { waitsUntilMs: untilMs });
  }
}

/** Reads the health of all threads, in the order of the rows. */
export class HeartbeatsReader {
  readonly #statuses: TableReader<typeof statusFields>;
  readonly #heartbeats: TableReader<typeof beatsFields>;
  constructor(buffer: SharedArrayBuffer) {
    this.#statuses = statuses.reader(buffer);
    this.#heartbeats = beats.reader(buffer, statuses.bytes(this.#statuses.capacity));
  }

  threads(): ThreadHealth[] {
    return Array.from(this.#statuses.rows(), ([row, status]) => {
      const beat = this.#heartbeats.read(row);
      return { ...status, row, beat: beat && beat.beatAtMs >= status.startedAtMs ? beat : undefined };
    });
  }
}
