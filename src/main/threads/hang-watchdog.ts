/**
 * Ends threads that hang: alive, and silent for so long that nothing but an end will help; their supervision then starts them again.
 *
 * A silence counts only while main itself was awake to hear: each look adds what passed since the last one, and no more than half as much
 * again as lies between looks. So a stall of main, a machine that slept and a process that was stopped never end a thread: it beats
 * again before the next looks. While a debugger is attached nothing is ended, since it may hold one thread at a breakpoint.
 */
import { url as inspectorUrl } from 'node:inspector';
import type { Logger } from '../../shared/log/logger.ts';
import { threadHangs } from '../../shared/metrics/definitions/threads.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';

/**
 * Work without a pause must stay well below: the longest known are a collection of a full heap of 320 MB, and a manifest of 10 MB being
 * decoded, each some seconds on a busy host.
 */
const defaultLimitMs = 45_000;
const defaultPeriodMs = 5_000;

export interface HangWatchdogOptions {
  readonly heartbeats: SharedArrayBuffer;
  readonly limitMs?: number;
  readonly periodMs?: number;
  readonly clock?: Clock;
  readonly isDebugged?: () => boolean;
}

interface Followed {
  readonly end: (why: string) => void;
  /** Monotonic ms of the last sign of life that was seen, and how long main has listened in vain since. */
  lastSignMs: number;
  silentMs: number;
}

export class HangWatchdog {
  readonly #reader: HeartbeatsReader;
  readonly #limitMs: number;
  readonly #periodMs: number;
  readonly #clock: Clock;
  readonly #isDebugged: () => boolean;
  readonly #followed = new Map<number, Followed>();
  #cancel: () => void = () => {};

  constructor({
    heartbeats,
    limitMs = defaultLimitMs,
    periodMs = defaultPeriodMs,
    clock = systemClock,
    isDebugged = () => inspectorUrl() !== undefined,
  }: HangWatchdogOptions) {
    this.#reader = new HeartbeatsReader(heartbeats);
    this.#limitMs = limitMs;
    this.#periodMs = periodMs;
    this.#clock = clock;
    this.#isDebugged = isDebugged;
  }

  /** Watches the thread of this heartbeat row from now on; `end` ends it as a fault would. Answers with how to let it be. */
  follow(row: number, end: (why: string) => void): () => void {
    const followed = { end, lastSignMs: 0, silentMs: 0 };
    this.#followed.set(row, followed);
    return () => {
      if (this.#followed.get(row) === followed) this.#followed.delete(row);
    };
  }

  /** Looks from now on, until `stop`. */
  start(logger: Logger): void {
    const look = (lastMs: number) => {
      const now = this.#clock.monotonic();
      this.#look(Math.min(now - lastMs, this.#periodMs * 1.5), logger);
      this.#cancel = this.#clock.after(this.#periodMs, () => look(now));
    };
    look(this.#clock.monotonic());
  }

  stop(): void {
    this.#cancel();
  }

  #look(listenedMs: number, logger: Logger): void {
    for (const { row, thread, alive, beat, startedAtMs } of this.#reader.threads()) {
      const followed = this.#followed.get(row);
      if (!followed) continue;
      const signMs = beat?.beatAtMs ?? startedAtMs;
      if (alive === 0 || signMs !== followed.lastSignMs || this.#isDebugged()) {
        followed.lastSignMs = signMs;
        followed.silentMs = 0;
        continue;
      }
      followed.silentMs += listenedMs;
      if (followed.silentMs < this.#limitMs) continue;
      // One that hangs in the kernel cannot be ended yet: it is tried again.
      const why = `it was not heard of for ${Math.round(followed.silentMs / 1000)} s`;
      followed.silentMs = 0;
      threadHangs.inc({ thread });
      logger.error({ thread, err: why }, 'thread hangs; it is ended, and will be started again');
      followed.end(why);
    }
  }
}
