/**
 * The lines of a watch whose parsing waits: an object that is long, and changes often, would keep main busy. After each version of such an object the next one
 * waits for a multiple of what this one has cost, and only the newest version is read. Small objects never wait. Pure.
 */

/** A line of a watch. Of one that is too long only the start is kept. */
export interface EventLine {
  readonly start: Buffer;
  readonly bytes: number;
  /** The body has ended without a newline after it. */
  readonly isLast?: boolean;
}

/** Parsing less takes about a millisecond. */
const minDeferredBytes = 128 * 1024;
/** What follows (merging, cloning for other threads) costs about as much as parsing and checking: together main spends a tenth on an object. */
const waitPerCost = 20;
/** A pause of the process is no cost of the object. */
const maxWaitMs = 10_000;
/** Six objects of the largest size. The oldest is read at once when there are more. */
const maxDeferredBytes = 48 * 1024 * 1024;

interface DeferredLine {
  readonly line: EventLine;
  readonly dueAtMs: number;
}

export class DeferredLines {
  readonly #dueAtMs = new Map<string, number>();
  readonly #lines = new Map<string, DeferredLine>();
  #bytes = 0;

  /** Whether the object of the line matters: the line is long, or another one waits that it may replace. */
  concerns({ bytes }: EventLine): boolean {
    return bytes >= minDeferredBytes || this.#lines.size > 0;
  }

  /** Whether the line of this object waits; `nextDue` returns it later. Another line of an object replaces the one that waits. */
  defer(uid: string, type: string, line: EventLine, nowMs: number): boolean {
    this.#drop(uid);
    if (type === 'DELETED') this.#dueAtMs.delete(uid);
    const dueAtMs = this.#dueAtMs.get(uid) ?? 0;
    if (type !== 'MODIFIED' || line.bytes < minDeferredBytes || dueAtMs <= nowMs) return false;
    this.#lines.set(uid, { line, dueAtMs });
    this.#bytes += line.bytes;
    return true;
  }

  /** Call this when a line was handled, and took so long. */
  handled(uid: string, { bytes }: EventLine, costMs: number, nowMs: number): void {
    for (const [other, dueAtMs] of this.#dueAtMs) if (dueAtMs <= nowMs) this.#dueAtMs.delete(other);
    if (bytes >= minDeferredBytes) this.#dueAtMs.set(uid, nowMs + Math.min(costMs * waitPerCost, maxWaitMs));
  }

  /** The ms until a line is due; 0 for one that is due, undefined when none waits. */
  nextDueInMs(nowMs: number): number | undefined {
    if (this.#bytes > maxDeferredBytes) return 0;
    let dueAtMs = Infinity;
    for (const line of this.#lines.values()) dueAtMs = Math.min(dueAtMs, line.dueAtMs);
    return dueAtMs === Infinity ? undefined : Math.max(0, dueAtMs - nowMs);
  }

  /** Returns the line that is due first. */
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
