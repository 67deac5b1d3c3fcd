/**
 * The permits in use, by lane. All starts share the common lane. When that lane is full, a critical pod (static, or system-critical) may use the
 * critical lane as long as fewer critical starts than the limit are in progress, so that a critical pod waits only for critical pods. A restart may
 * use one of two more permits.
 */
import type { StartRequest } from './start-request.ts';

export type StartLane = 'common' | 'critical' | 'restart';

/** Further restarts wait, before all other starts. */
const restartPermits = 2;

export class StartLanes {
  readonly #inUse = { common: 0, critical: 0, restart: 0 };
  /** Critical starts in any lane. */
  #critical = 0;

  get inFlight(): number {
    return this.#inUse.common + this.#inUse.critical + this.#inUse.restart;
  }

  /** Returns undefined when the start must wait. */
  laneFor({ critical, restart }: StartRequest, allowed: number): StartLane | undefined {
    if (this.#inUse.common < allowed) return 'common';
    if (critical && this.#critical < allowed) return 'critical';
    return restart && this.#inUse.restart < restartPermits ? 'restart' : undefined;
  }

  enter(lane: StartLane, request: StartRequest): void {
    this.#inUse[lane] += 1;
    if (request.critical) this.#critical += 1;
  }

  leave(lane: StartLane, request: StartRequest): void {
    this.#inUse[lane] -= 1;
    if (request.critical) this.#critical -= 1;
  }

  /** Reserves the permit of a start that has ended in the common lane. */
  reserve(request: StartRequest): void {
    if (request.critical) this.#critical -= 1;
  }

  takeReservation(request: StartRequest): void {
    if (request.critical) this.#critical += 1;
  }

  cancelReservation(): void {
    this.#inUse.common -= 1;
  }
}
