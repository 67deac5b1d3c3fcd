/**
 * Sends the ranges of the node's pods to the runtime, whose network plugin may be configured with them (containerd's `conf_template`): those of the
 * Node, or podCIDR of the configuration while the Node has none. Upstream: updatePodCIDR in pkg/kubelet/kubelet_network.go.
 */
import { Wakeup } from '../../shared/concurrency/wakeup.ts';
import type { UpdateRuntimeConfigResult } from '../../shared/contracts/pod-sync/runtime-config.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface PodCIDRSyncOptions {
  readonly update: (podCIDR: string) => Promise<UpdateRuntimeConfigResult>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

/** Upstream tries again with each status of the node, every ten seconds. */
const backoff = { initialMs: 1000, maxMs: 10_000 };

export class PodCIDRSync {
  readonly #options: PodCIDRSyncOptions;
  readonly #wakeup: Wakeup;
  #wanted = '';
  /** The number of requests to send the ranges. */
  #requested = 0;
  /** The value of `#requested` at the last successful send. The runtime has the newest ranges when both are equal. */
  #sent = 0;
  #isSending = false;
  #lastFailure = '';

  constructor(options: PodCIDRSyncOptions) {
    this.#options = options;
    this.#wakeup = new Wakeup(options.clock);
  }

  /** Sends the ranges unless they are empty or the same as before. Does not wait. */
  set(podCIDR: string): void {
    if (podCIDR === '' || podCIDR === this.#wanted) return;
    this.#options.logger.info({ originalPodCIDR: this.#wanted, newPodCIDR: podCIDR }, 'Updating Pod CIDR');
    this.#wanted = podCIDR;
    this.#request();
  }

  /** Sends the ranges again: the runtime may have been restarted. */
  resend(): void {
    if (this.#wanted !== '') this.#request();
  }

  #request(): void {
    this.#requested += 1;
    if (this.#isSending) this.#wakeup.wake();
    else void this.#send();
  }

  async #send(): Promise<void> {
    const { signal } = this.#options;
    this.#isSending = true;
    let delayMs: number | undefined;
    while (this.#sent !== this.#requested && !signal.aborted) {
      const requested = this.#requested;
      if (await this.#sendOnce()) {
        this.#sent = requested;
        delayMs = undefined;
        continue;
      }
      delayMs = nextBackoffMs(delayMs, backoff);
      await this.#wakeup.next(withJitter(delayMs, 0.1), signal);
    }
    this.#isSending = false;
  }

  /** Returns false when the send must be repeated. */
  async #sendOnce(): Promise<boolean> {
    const { update, logger, signal } = this.#options;
    const podCIDR = this.#wanted;
    const reply = await update(podCIDR).catch((err: unknown) => ({ result: 'failed', message: messageOf(err) }) as const);
    if (reply.result === 'failed') {
      const isNew = reply.message !== this.#lastFailure;
      if (isNew && !signal.aborted) logger.error({ podCIDR, err: reply.message }, 'Pod CIDR update failed');
      this.#lastFailure = reply.message;
      return false;
    }
    this.#lastFailure = '';
    if (reply.result === 'unsupported') logger.info({ podCIDR }, 'The container runtime takes no Pod CIDR');
    else logger.debug({ podCIDR }, 'The container runtime has the Pod CIDR');
    return true;
  }
}
