/**
 * The places of starts that count. All starts share the common lane. A critical pod (static, or system-critical) and a restart may go beside a
 * full one: a critical pod as long as fewer critical starts than the limit count, so that only its own kind can hold it up; a restart when one
 * of two more places is free.
 */
import type { StartRequest } from './start-admission.ts';

export type StartLane = 'common' | 'critical' | 'restart';

/** Restarts that may run beside a full house; more of them take their turn, before all other starts. */
const restartPlaces = 2;

export class StartLanes {
  readonly #taken = { common: 0, critical: 0, restart: 0 };
  /** In whichever lane. */
  #critical = 0;

  get inFlight(): number {
    return this.#taken.common + this.#taken.critical + this.#taken.restart;
  }

  /** Undefined: the start has to wait. */
  laneFor({ critical, restart }: StartRequest, allowed: number): StartLane | undefined {
    if (this.#taken.common < allowed) return 'common';
    if (critical && this.#critical < allowed) return 'critical';
    return restart && this.#taken.restart < restartPlaces ? 'restart' : undefined;
  }

  enter(lane: StartLane, request: StartRequest): void {
    this.#taken[lane] += 1;
    if (request.critical) this.#critical += 1;
  }

  leave(lane: StartLane, request: StartRequest): void {
    this.#taken[lane] -= 1;
    if (request.critical) this.#critical -= 1;
  }

  /** Keeps the place of a start that has ended, for the next. */
  keepPlace(request: StartRequest): void {
    if (request.critical) this.#critical -= 1;
  }

  takeKeptPlace(request: StartRequest): void {
    if (request.critical) this.#critical += 1;
  }

  giveUpKeptPlace(): void {
    this.#taken.common -= 1;
  }
}
