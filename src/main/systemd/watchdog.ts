/**
 * Reports to systemd's watchdog that the kubelet works: at half of the unit's WatchdogSec, while the checks of `/healthz` pass. When they fail, or when the
 * notification cannot be sent, both are repeated each second, so that a fault that passes in time costs no restart. Upstream: pkg/kubelet/watchdog.
 *
 * The timer runs on main: a main thread that hangs sends nothing.
 */
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import type { HealthCheck } from '../../shared/health/health.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

export interface WatchdogOptions {
  readonly timeoutMs: number;
  readonly checks: () => readonly HealthCheck[];
  /** Throws when the notification cannot be sent. */
  readonly notify: (state: 'WATCHDOG=1') => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const retryMs = 1000;

export class Watchdog {
  readonly #options: WatchdogOptions;
  #problem = '';
  #cancel: () => void = () => {};

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Sends the first notification at once. */
  start(): void {
    const { timeoutMs, clock } = this.#options;
    const intervalMs = timeoutMs / 2;
    const delayMs = this.#ping() ? intervalMs : Math.min(retryMs, intervalMs);
    this.#cancel = clock.after(delayMs, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }

  #ping(): boolean {
    const { checks, notify } = this.#options;
    const failed = checks().filter(({ fault }) => fault !== '');
    if (failed.length > 0) {
      const problem = failed.map(({ name, fault }) => `checker ${name} failed: ${fault}`).join('; ');
      return this.#report(problem, 'Do not notify watchdog this iteration as the kubelet is reportedly not healthy');
    }
    try {
      notify('WATCHDOG=1');
    } catch (err) {
      return this.#report(messageOf(err), 'Failed to notify watchdog');
    }
    this.#problem = '';
    return true;
  }

  /** Logs a problem once while it lasts. */
  #report(problem: string, message: string): false {
    if (problem !== this.#problem) this.#options.logger.error({ err: problem }, message);
    this.#problem = problem;
    return false;
  }
}
