/**
 * Reports when the kernel sees that memory becomes scarce, so that evictions are checked before their period is over: tasks wait for memory (PSI), or a cgroup
 * of v1 crosses an eviction threshold. Owned by the stats thread; main checks the evictions. Without these two sources main checks only periodically.
 *
 * A tenant can cause any number of these events, and a check costs a sample, so there is at most one report a second. An event within that second is
 * reported at its end.
 */
import { closeSync } from 'node:fs';
import type { MemoryPressure } from '../../../shared/contracts/stats.ts';
import { EventFd, poll, PollEvent, type PollRequest } from '../../../shared/linux/poll.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { UsageNotifier } from './usage-notifier.ts';

export interface MemoryPressureWatcherOptions {
  readonly onPressure: (source: MemoryPressure['source']) => void;
  /** Opens a PSI trigger and returns its file descriptor. Throws without PSI. */
  readonly openStallTrigger: () => number;
  /** Absent on cgroup v2, and without kernelMemcgNotification. */
  readonly usage?: Pick<UsageNotifier, 'event' | 'refresh' | 'close'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: 2 s. The start of the kubelet waits for other work of this thread. */
  readonly startDelayMs?: number;
  /** Default: 2 s. */
  readonly pollTimeoutMs?: number;
}

const defaultStartDelayMs = 2000;

/** Limits how long the termination of the thread, or process.exit(), waits for the poll. `close` ends the poll at once. */
const defaultPollTimeoutMs = 2000;
const minIntervalMs = 1000;
/** Upstream: notifierRefreshInterval. */
const refreshPeriodMs = 10_000;

export class MemoryPressureWatcher {
  readonly #options: MemoryPressureWatcherOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Ends the poll that is in progress. */
  #wake: EventFd | undefined;
  #stallFd: number | undefined;

  private constructor(options: MemoryPressureWatcherOptions) {
    this.#options = options;
    this.#running = this.#run().catch((err: unknown) =>
      options.logger.error({ err }, 'The kernel’s notifications of memory pressure ended: evictions are checked periodically'),
    );
  }

  static start(options: MemoryPressureWatcherOptions): MemoryPressureWatcher {
    return new MemoryPressureWatcher(options);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake?.notify();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, startDelayMs = defaultStartDelayMs } = this.#options;
    const { signal } = this.#stop;
    await clock.sleep(startDelayMs, signal).catch(() => {});
    if (signal.aborted) return;
    this.#stallFd = this.#openStallTrigger();
    this.#wake = new EventFd();
    try {
      let refreshAtMs = -Infinity;
      while (!signal.aborted && (this.#stallFd !== undefined || this.#options.usage)) {
        if (clock.monotonic() >= refreshAtMs) {
          this.#options.usage?.refresh();
          refreshAtMs = clock.monotonic() + refreshPeriodMs;
        }
        const source = await this.#waitOnce(this.#wake);
        if (source === undefined) continue;
        this.#options.onPressure(source);
        await clock.sleep(minIntervalMs, signal).catch(() => {});
      }
    } finally {
      this.#wake.close();
      this.#wake = undefined;
      this.#options.usage?.close();
      this.#closeStallTrigger();
    }
  }

  /** Waits for an event. Returns undefined after the time-out, and after `close`. */
  async #waitOnce(wake: EventFd): Promise<MemoryPressure['source'] | undefined> {
    const usage = this.#options.usage?.event;
    // poll(2) ignores a negative descriptor.
    const absent: PollRequest = { fd: -1, events: 0 };
    const [, usageEvents = 0, stallEvents = 0] = await poll(
      [
        { fd: wake.fd, events: PollEvent.readable },
        usage ? { fd: usage.fd, events: PollEvent.readable } : absent,
        this.#stallFd === undefined ? absent : { fd: this.#stallFd, events: PollEvent.priority },
      ],
      this.#options.pollTimeoutMs ?? defaultPollTimeoutMs,
    );
    usage?.reset();
    // POLLERR: the trigger is gone.
    if (stallEvents & PollEvent.error) this.#closeStallTrigger();
    if (this.#stop.signal.aborted) return undefined;
    if (usageEvents & PollEvent.readable) return 'usage';
    return stallEvents & PollEvent.priority ? 'stall' : undefined;
  }

  #openStallTrigger(): number | undefined {
    try {
      return this.#options.openStallTrigger();
    } catch (err) {
      this.#options.logger.info({ err }, 'The kernel does not report stalls for lack of memory (PSI)');
      return undefined;
    }
  }

  #closeStallTrigger(): void {
    if (this.#stallFd !== undefined) closeSync(this.#stallFd);
    this.#stallFd = undefined;
  }
}
