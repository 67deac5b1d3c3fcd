/**
 * Kills the processes of a pod that has no time left and that the runtime does not end: a hard eviction must free what the pod uses up. A runtime starts a
 * process to kill a container. After a fork bomb it cannot start one, so its call fails or does not return. A pod with more time is left to the runtime,
 * whose next attempt may end the pod gracefully.
 */
import type { PodUID } from '../../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';
import { minimumGraceSeconds } from './container-grace-period.ts';

/** The runtime itself kills at the end of the grace period, and gets this long for that. Also the time between attempts. */
const allowanceMs = 3000;

export class OverdueKill {
  readonly #context: TaskContext;
  readonly #stopListening: () => void;
  #cancel: () => void = () => {};
  /** The end of the grace period (monotonic). Null: the pod has more time. */
  #dueMs: number | null = null;

  /** Begins to wait for the end of the pod. Call `close` when the runtime has ended the pod, or has failed. */
  constructor(context: TaskContext, gracePeriodSeconds: number | null) {
    this.#context = context;
    this.#stopListening = context.channel.onShrink((seconds) => this.#setGracePeriod(seconds));
    this.#setGracePeriod(gracePeriodSeconds ?? Infinity);
  }

  /**
   * Call this when the runtime has failed to end the pod. Kills a pod that has no time left, at the end of its grace period. Rejects with Stopped, and when
   * the processes cannot be killed.
   */
  async onFailure(): Promise<void> {
    if (this.#dueMs === null) return;
    const { clock, channel } = this.#context;
    await clock.sleep(Math.max(0, this.#dueMs - clock.monotonic()), channel.signal);
    await this.#kill('The runtime could not stop a pod that has no time left: killing its processes');
  }

  close(): void {
    this.#stopListening();
    this.#cancel();
  }

  #setGracePeriod(seconds: number): void {
    if (seconds > minimumGraceSeconds || this.#dueMs !== null) return;
    this.#dueMs = this.#context.clock.monotonic() + minimumGraceSeconds * 1000;
    this.#schedule(minimumGraceSeconds * 1000 + allowanceMs);
  }

  #schedule(delayMs: number): void {
    const { clock, logger } = this.#context;
    this.#cancel = clock.after(delayMs, () => {
      this.#schedule(allowanceMs);
      this.#kill('The runtime does not stop a pod that has no time left: killing its processes').catch((err: unknown) =>
        logger.warn({ err }, 'The processes of a pod could not be killed'),
      );
    });
  }

  async #kill(message: string): Promise<void> {
    const { cgroups, channel, identity, logger } = this.#context;
    logger.warn(message);
    await cgroups.kill(identity.uid as PodUID, channel.signal);
  }
}
