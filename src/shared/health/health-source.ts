/** The checks of `/healthz` as they are now, counted as metrics each time that they are asked for. */
import { fstat } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../errors/kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { healthcheck, healthchecksTotal } from '../metrics/definitions/health.ts';
import type { HeartbeatsReader } from '../state/heartbeats.ts';
import { monotonicMs } from '../time/clock.ts';
import { healthChecks, type HealthCheck } from './health.ts';

const stderr = 2;
const lookAtLogMs = 10_000;
/** A label of the metrics. */
const type = 'healthz';

export class HealthSource {
  readonly #heartbeats: HeartbeatsReader;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #logFault = '';
  /** The names of the checks, and those that were ever in a state: what there is to reset. */
  readonly #seen = new Map<string, Set<'success' | 'error'>>();

  constructor(heartbeats: HeartbeatsReader, logger: Logger) {
    this.#heartbeats = heartbeats;
    this.#logger = logger;
    this.#timer = setInterval(() => this.#lookAtLog(), lookAtLogMs);
  }

  checks(): HealthCheck[] {
    const checks = healthChecks(this.#heartbeats.threads(), monotonicMs(), this.#logFault);
    for (const { name, fault } of checks) {
      const status = fault === '' ? 'success' : 'error';
      healthcheck.set(fault === '' ? 1 : 0, { name, type });
      healthchecksTotal.inc({ name, type, status });
      this.#seen.set(name, (this.#seen.get(name) ?? new Set()).add(status));
      if (fault !== '') this.#logger.warn({ check: name, fault }, 'health check failed');
    }
    return checks;
  }

  /** The metrics begin anew; the checks do not. */
  resetMetrics(): void {
    for (const [name, statuses] of this.#seen) {
      healthcheck.remove({ name, type });
      for (const status of statuses) healthchecksTotal.reset({ name, type, status });
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Lines are written where they are logged, so there is no flusher to watch: only whether the log's descriptor is still there. */
  #lookAtLog(): void {
    promisify(fstat)(stderr).then(
      () => (this.#logFault = ''),
      (err: unknown) => (this.#logFault = `the log can not be written: ${messageOf(err)}`),
    );
  }
}
