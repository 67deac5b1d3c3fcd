/** Runs the checks of `/healthz`, and updates their metrics at each run. */
import { fstat } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../errors/kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { healthcheck, healthchecksTotal } from '../metrics/definitions/health.ts';
import type { HeartbeatsReader } from '../state/heartbeats.ts';
import { monotonicMs } from '../time/clock.ts';
import { healthChecks, type HealthCheck } from './health.ts';

const stderr = 2;
const logCheckPeriodMs = 10_000;
/** The value of the metrics' `type` label. */
const type = 'healthz';

export class HealthSource {
  readonly #heartbeats: HeartbeatsReader;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #logFault = '';
  /** The statuses that each check has had: the series that `resetMetrics` resets. */
  readonly #statuses = new Map<string, Set<'success' | 'error'>>();

  constructor(heartbeats: HeartbeatsReader, logger: Logger) {
    this.#heartbeats = heartbeats;
    this.#logger = logger;
    this.#timer = setInterval(() => this.#checkLog(), logCheckPeriodMs);
  }

  checks(): HealthCheck[] {
    const checks = healthChecks(this.#heartbeats.threads(), monotonicMs(), this.#logFault);
    for (const { name, fault } of checks) {
      const status = fault === '' ? 'success' : 'error';
      healthcheck.set(fault === '' ? 1 : 0, { name, type });
      healthchecksTotal.inc({ name, type, status });
      this.#statuses.set(name, (this.#statuses.get(name) ?? new Set()).add(status));
      if (fault !== '') this.#logger.warn({ check: name, fault }, 'health check failed');
    }
    return checks;
  }

  /** Resets the metrics, not the checks. */
  resetMetrics(): void {
    for (const [name, statuses] of this.#statuses) {
      healthcheck.remove({ name, type });
      for (const status of statuses) healthchecksTotal.reset({ name, type, status });
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Upstream checks that its log flusher runs. Lines are written synchronously here, so this only checks that the log's descriptor is open. */
  #checkLog(): void {
    promisify(fstat)(stderr).then(
      () => (this.#logFault = ''),
      (err: unknown) => (this.#logFault = `the log can not be written: ${messageOf(err)}`),
    );
  }
}
