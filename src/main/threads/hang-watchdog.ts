/**
 * Terminates threads that hang: their worker runs, but its heartbeat has stopped. Their supervisor then restarts them.
 *
 * Time without a heartbeat counts only while main itself was running: each check adds the time since the last check, and at most one and a half
 * check periods. So a stall of main, a suspended machine and a stopped process never terminate a thread: the thread beats again before the next
 * check. No thread is terminated while a debugger is attached, because the debugger may stop one thread at a breakpoint.
 */
import { url as inspectorUrl } from 'node:inspector';
import type { Logger } from '../../shared/log/logger.ts';
import { threadHangs } from '../../shared/metrics/definitions/threads.ts';
import { HeartbeatsReader } from '../../shared/state/heartbeats.ts';
import { systemClock, type Clock } from '../../shared/time/clock.ts';

/**
 * The event loop of a healthy thread must never block for this long. The longest known blocks are the collection of a full heap of 320 MB and the
 * decoding of a manifest of 10 MB: some seconds each on a busy host.
 */
const defaultLimitMs = 45_000;
const defaultPeriodMs = 5_000;
/** A test may make the system clock run faster to shorten the kubelet's periods. A busy thread still needs real time, so `performance` measures it. */
const watchdogClock: Clock = { ...systemClock, monotonic: () => performance.now() };

export interface HangWatchdogOptions {
  readonly heartbeats: SharedArrayBuffer;
  readonly limitMs?: number;
  readonly periodMs?: number;
  readonly clock?: Clock;
  readonly isDebugged?: () => boolean;
}

interface FollowedThread {
  readonly terminate: (cause: string) => void;
  /** Monotonic ms of the last heartbeat that a check saw. */
  lastBeatMs: number;
  /** The time without a heartbeat since then that counts. */
  silentMs: number;
}

export class HangWatchdog {
  readonly #reader: HeartbeatsReader;
  readonly #limitMs: number;
  readonly #periodMs: number;
  readonly #clock: Clock;
  readonly #isDebugged: () => boolean;
  /** By heartbeat row. */
  readonly #watched = new Map<number, FollowedThread>();
  #cancel: () => void = () => {};

  constructor({
    heartbeats,
    limitMs = defaultLimitMs,
    periodMs = defaultPeriodMs,
    clock = watchdogClock,
    isDebugged = () => inspectorUrl() !== undefined,
  }: HangWatchdogOptions) {
    this.#reader = new HeartbeatsReader(heartbeats);
    this.#limitMs = limitMs;
    this.#periodMs = periodMs;
    this.#clock = clock;
    this.#isDebugged = isDebugged;
  }

  /** Watches the thread of this heartbeat row: calls `terminate` when it hangs. Call the result to stop watching. */
  follow(row: number, terminate: (cause: string) => void): () => void {
    const watched = { terminate, lastBeatMs: 0, silentMs: 0 };
    this.#watched.set(row, watched);
    return () => {
      if (this.#watched.get(row) === watched) this.#watched.delete(row);
    };
  }

  /** Starts the checks. */
  start(logger: Logger): void {
    const check = (lastMs: number) => {
      const now = this.#clock.monotonic();
      this.#check(Math.min(now - lastMs, this.#periodMs * 1.5), logger);
      this.#cancel = this.#clock.after(this.#periodMs, () => check(now));
    };
    check(this.#clock.monotonic());
  }

  stop(): void {
    this.#cancel();
  }

  #check(elapsedMs: number, logger: Logger): void {
    for (const { row, thread, alive, beat, startedAtMs } of this.#reader.threads()) {
      const watched = this.#watched.get(row);
      if (!watched) continue;
      const beatMs = beat?.beatAtMs ?? startedAtMs;
      if (alive === 0 || beatMs !== watched.lastBeatMs || this.#isDebugged()) {
        watched.lastBeatMs = beatMs;
        watched.silentMs = 0;
        continue;
      }
      watched.silentMs += elapsedMs;
      if (watched.silentMs < this.#limitMs) continue;
      // A thread that hangs in the kernel does not terminate yet. It is terminated again after the same time.
      const cause = `no heartbeat for ${Math.round(watched.silentMs / 1000)} s`;
      watched.silentMs = 0;
      threadHangs.inc({ thread });
      logger.error({ thread, err: cause }, 'thread hangs; it is terminated, and will be started again');
      watched.terminate(cause);
    }
  }
}
