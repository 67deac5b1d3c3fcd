/** Runs the steps of node-level reclaim for one starved resource at a time. Passes go on meanwhile. */
import type { NodeReclaim } from '../../shared/contracts/eviction.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface NodeReclaimerOptions<Reason> {
  /** Must settle. */
  readonly steps: Readonly<Record<NodeReclaim, () => Promise<void>>>;
  /** Waits for what the steps have freed. */
  readonly settle: (reason: Reason) => Promise<void>;
  /** Called when reclaim is over: `take` returns its reason then. */
  readonly onOver: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After this time a pass decides without the end of the steps. The steps continue: they may remove hundreds of images. */
const deadlineMs = 120_000;

/** `Reason`: why the resource is reclaimed. The reclaimer only keeps it for the caller. */
export class NodeReclaimer<Reason> {
  readonly #options: NodeReclaimerOptions<Reason>;
  #current: { readonly reason: Reason; isOver: boolean } | null = null;
  /** Steps that took too long may still run. */
  #isRunning = false;

  constructor(options: NodeReclaimerOptions<Reason>) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#current !== null;
  }

  /** Returns false when the steps can't start, because earlier ones still run. */
  start(steps: readonly NodeReclaim[], reason: Reason): boolean {
    if (this.#isRunning || this.#current) return false;
    const current = { reason, isOver: false };
    const end = () => {
      if (current.isOver) return;
      current.isOver = true;
      this.#options.onOver();
    };
    this.#current = current;
    this.#isRunning = true;
    const cancelDeadline = this.#options.clock.after(deadlineMs, end);
    void this.#run(steps, reason).finally(() => {
      this.#isRunning = false;
      cancelDeadline();
      end();
    });
    return true;
  }

  /** Returns why the resource was reclaimed, once, when the steps are over. */
  take(): Reason | undefined {
    if (!this.#current?.isOver) return undefined;
    const { reason } = this.#current;
    this.#current = null;
    return reason;
  }

  async #run(steps: readonly NodeReclaim[], reason: Reason): Promise<void> {
    for (const step of steps) {
      try {
        await this.#options.steps[step]();
      } catch (err) {
        this.#options.logger.warn({ err: messageOf(err), step }, 'Unexpected error when attempting to reduce resource pressure');
      }
    }
    await this.#options.settle(reason);
  }
}
