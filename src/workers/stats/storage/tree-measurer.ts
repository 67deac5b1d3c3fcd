/**
 * Measures the queued trees one request after the other, in the helper process or in this thread, within a budget of processor time. When the helper process
 * does not answer in time, a new one takes its place: the tree on which it hangs is not measured, and the other trees are measured some seconds later.
 */
import { Wakeup } from '../../../shared/concurrency/wakeup.ts';
import type { TreeRequest, TreeUsage } from '../../../shared/contracts/helper.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { CpuBudget } from './cpu-budget.ts';
import { TreeQueue, type MeasuredTree, type Tree } from './tree-queue.ts';

export interface TreeMeasurerOptions {
  /** Sends `measureTrees` to the helper process, or does the same here. */
  readonly measureTrees: (request: {
    trees: readonly TreeRequest[];
    forget: readonly string[];
    treeCpuMs: number;
    totalCpuMs: number;
  }) => Promise<{ readonly trees: readonly TreeUsage[]; readonly cpuMs: number }>;
  readonly onMeasured: (id: string, usage: MeasuredTree) => void;
  /** The tree can't be opened. */
  readonly onFailed: (id: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

/** The share of a core. It includes the start of the helper process. */
const cpuShare = 0.05;
/** The processor time of one request: for each tree, and in all. A walk that does not end continues with a later request. */
const slice = { treeCpuMs: 5, totalCpuMs: 20 } as const;
/** What a request costs both processes beside the walks: encoding, and two wake-ups. */
const requestCpuMs = 0.3;
/** Only `setTrees`, which is called every 10 s, wakes the measurement. If each tree did when it becomes due, both processes would wake for single trees. */
const maxSleepMs = 60 * 60_000;
/** The pause after a failure that no tree has caused. */
const retryMs = 60_000;

export class TreeMeasurer {
  readonly #options: TreeMeasurerOptions;
  readonly #queue: TreeQueue;
  readonly #budget: CpuBudget;
  readonly #wakeup: Wakeup;
  /** Walks that the next request ends. */
  #forget: string[] = [];
  /** The processor time of the running helper process at the last reply. */
  #processCpuMs = 0;
  #isFailing = false;
  #hasLoggedFailure = false;

  constructor(options: TreeMeasurerOptions) {
    this.#options = options;
    this.#queue = new TreeQueue(options.random);
    this.#budget = new CpuBudget(cpuShare, options.clock);
    this.#wakeup = new Wakeup(options.clock);
  }

  setTrees(trees: readonly Tree[]): void {
    this.#forget.push(...this.#queue.setTrees(trees, this.#options.clock.monotonic()));
    this.#wakeup.wake();
  }

  /** Resolves after the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.measureDue(signal);
      await this.#wakeup.next(maxSleepMs, signal);
    }
  }

  /** Measures the trees that are due. Resolves when none is due, or when the signal aborts. */
  async measureDue(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const trees = this.#queue.next(clock.monotonic());
      if (trees.length === 0) return;
      const pauseMs = (await this.#measure(trees, signal)) ? this.#budget.waitMs : retryMs;
      if (pauseMs > 0) await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  /** Returns false after a failure that no tree has caused: no helper process could be started. */
  async #measure(trees: readonly TreeRequest[], signal: AbortSignal): Promise<boolean> {
    const { measureTrees, onMeasured, onFailed, clock, logger } = this.#options;
    const forget = this.#forget.splice(0);
    try {
      const reply = await measureTrees({ trees, forget, ...slice });
      // A smaller number than at the last reply comes from a new process.
      this.#budget.spend(requestCpuMs + reply.cpuMs - (reply.cpuMs < this.#processCpuMs ? 0 : this.#processCpuMs));
      this.#processCpuMs = reply.cpuMs;
      for (const usage of reply.trees) {
        const newUsage = this.#queue.onMeasured(usage, clock.monotonic());
        if (newUsage) onMeasured(usage.id, newUsage);
        if (usage.outcome !== 'failed') continue;
        onFailed(usage.id);
        this.#logFailure(usage);
      }
      this.#isFailing = false;
      return true;
    } catch (err) {
      if (signal.aborted) return true;
      this.#processCpuMs = 0;
      const { code } = err as NodeJS.ErrnoException;
      if (code !== 'ETIMEDOUT' && code !== 'EPIPE') {
        if (!this.#isFailing) logger.error({ err, retryInMs: retryMs }, 'Can’t measure the disk usage of pods');
        this.#isFailing = true;
        return false;
      }
      const culprit = this.#queue.onHang(trees, clock.monotonic());
      if (culprit) logger.warn({ err, path: culprit.path, podUID: culprit.podUID }, 'A tree can’t be measured: its filesystem may hang');
      return true;
    }
  }

  /** Warns once: every tree may fail for the same reason, such as a missing function of the C library. A tree that is gone (ENOENT) is no reason to warn. */
  #logFailure({ id, message, code }: TreeUsage): void {
    const isGone = code === 'ENOENT';
    if (!isGone && !this.#hasLoggedFailure) this.#options.logger.warn({ path: id, reason: message }, 'Failed to measure a tree');
    else this.#options.logger.debug({ path: id, reason: message }, 'Failed to measure a tree');
    this.#hasLoggedFailure ||= !isGone;
  }
}
