/**
 * Defers the parsing of long lines of a watch. A large object that changes often would keep the main thread busy. After a version of such an
 * object was handled, the next versions wait for a multiple of the time that it took, and only the newest of them is parsed. Small objects never
 * wait. Pure.
 */

/** A line of a watch. */
export interface EventLine {
  /** The line, or only its first bytes if it is longer than the limit of an event. */
  readonly start: Buffer;
  /** The length of the whole line. */
  readonly bytes: number;
  /** The body has ended without a newline after it. */
  readonly isLast?: boolean;
}

/** Shorter lines are never deferred: parsing them takes about a millisecond. */
const minDeferredBytes = 128 * 1024;
/**
 * A wait is this many times the measured cost, which covers parsing and checking. The later steps (merging, cloning for other threads) cost
 * about the same again, so main spends about 2/20, a tenth of its time, on one object.
 */
const waitPerCost = 20;
/** Bounds the wait: a pause of the whole process during the measurement is not a cost of the object. */
const maxWaitMs = 10_000;
/** Bounds memory: three lines of the maximum length (`maxEventBytes` in watch-events.ts). Beyond this, the line that is due first is read at once. */
const maxDeferredBytes = 48 * 1024 * 1024;

interface DeferredLine {
  readonly line: EventLine;
  readonly dueAtMs: number;
}

export class DeferredLines {
  /** By UID: when the next line of the object may be parsed. */
  readonly #dueAtMs = new Map<string, number>();
  /** By UID: the line that waits. */
  readonly #lines = new Map<string, DeferredLine>();
  #bytes = 0;

  /** Whether the caller must find out the UID of the line's object and call `defer`: the line is long, or it may replace a line that waits. */
  concerns({ bytes }: EventLine): boolean {
    return bytes >= minDeferredBytes || this.#lines.size > 0;
  }

  /** Returns whether the line was deferred; `takeNext` returns it later. Drops an older line of the same object that waits. */
  defer(uid: string, type: string, line: EventLine, nowMs: number): boolean {
    this.#drop(uid);
    if (type === 'DELETED') this.#dueAtMs.delete(uid);
    const dueAtMs = this.#dueAtMs.get(uid) ?? 0;
    if (type !== 'MODIFIED' || line.bytes < minDeferredBytes || dueAtMs <= nowMs) return false;
    this.#lines.set(uid, { line, dueAtMs });
    this.#bytes += line.bytes;
    return true;
  }

  /** Called after a line was parsed and its event handled, which took `costMs`. */
  handled(uid: string, { bytes }: EventLine, costMs: number, nowMs: number): void {
    for (const [other, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) this.#dueAtMs.delete(other);
    if (bytes >= minDeferredBytes) this.#dueAtMs.set(uid, nowMs + Math.min(costMs * waitPerCost, maxWaitMs));
  }

  /** Returns the ms until the next line is due: 0 if one is due already, undefined if no line waits. */
  nextDueInMs(nowMs: number): number | undefined {
    if (this.#bytes > maxDeferredBytes) return 0;
    let dueAtMs = Infinity;
    for (const line of this.#lines.values()) dueAtMs = Math.min(dueAtMs, line.dueAtMs);
    return dueAtMs === Infinity ? undefined : Math.max(0, dueAtMs - nowMs);
  }

  /** Removes and returns the line that is due first. */
  takeNext(): EventLine | undefined {
    let next: [uid: string, DeferredLine] | undefined;
    for (const entry of this.#lines) if (!next || entry[1].dueAtMs < next[1].dueAtMs) next = entry;
    if (next) this.#drop(next[0]);
    return next?.[1].line;
  }

  #drop(uid: string): void {
    const dropped = this.#lines.get(uid);
    if (!dropped) return;
    this.#lines.delete(uid);
    this.#bytes -= dropped.line.bytes;
  }
}
