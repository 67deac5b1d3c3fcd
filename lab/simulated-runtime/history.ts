/**
 * The history of the runtime's containers, in order: what a client requested and what happened. Tests check it for states that must never
 * occur. Times are CLOCK_MONOTONIC in ms, as in the call log.
 */
import type { Container } from './machine.ts';

export interface HistoryEntry {
  readonly atMs: number;
  /** `ended`: the process has ended, for whatever reason. `removed`: the container is gone. */
  readonly type: 'startRequested' | 'started' | 'stopRequested' | 'ended' | 'removed';
  readonly podUID: string;
  readonly container: string;
  readonly containerID: string;
  /** Of a stop request. */
  readonly graceSeconds?: number;
}

const maxEntries = 100_000;

export class RuntimeHistory {
  readonly #nowMs: () => number;
  #entries: HistoryEntry[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(type: HistoryEntry['type'], { id, sandbox, config }: Container, graceSeconds?: number): void {
    this.#entries.push({
      atMs: this.#nowMs(),
      type,
      podUID: sandbox.config.metadata?.uid ?? '',
      container: config.metadata?.name ?? '',
      containerID: id,
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
    });
    if (this.#entries.length >= 2 * maxEntries) this.#entries = this.#entries.slice(-maxEntries);
  }

  /** Returns the newest entries, oldest first. */
  entries(): readonly HistoryEntry[] {
    return this.#entries.slice(-maxEntries);
  }

  clear(): void {
    this.#entries = [];
  }
}
