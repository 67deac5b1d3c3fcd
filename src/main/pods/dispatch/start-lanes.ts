/**
 * Counts the permits in use, by lane. A lane is a limit of its own, for starts that must not wait behind others. All starts share the common lane.
 * When that lane is full, a critical pod (static, or system-critical) may use the critical lane as long as fewer critical starts than the limit
 * are in progress, so that a critical pod waits only for critical pods. A restart may use the two permits of the restart lane. A small pod may use
 * the two permits of the small lane while the start of a large pod is in progress, which takes the runtime seconds.
 */
import type { StartRequest } from './start-request.ts';

export type StartLane = 'common' | 'critical' | 'restart' | 'small';

/** Further restarts wait, ahead of all other starts. */
const restartPermits = 2;
/** Enough for the sandbox of one small pod and the container of another. */
const smallPermits = 2;

export class StartLanes {
  readonly #inUse = { common: 0, critical: 0, restart: 0, small: 0 };
  /** Critical starts in any lane. */
  #critical = 0;
  /** Starts of large pods in any lane. */
  #large = 0;

  get inFlight(): number {
    return this.#inUse.common + this.#inUse.critical + this.#inUse.restart + this.#inUse.small;
  }

  /** `allowed`: the limit of the common lane, and of the critical lane. Returns undefined when the start must wait. */
  laneFor({ critical, restart, large }: StartRequest, allowed: number): StartLane | undefined {
    if (this.#inUse.common < allowed) return 'common';
    if (critical && this.#critical < allowed) return 'critical';
    if (restart && this.#inUse.restart < restartPermits) return 'restart';
    return !large && this.#large > 0 && this.#inUse.small < smallPermits ? 'small' : undefined;
  }

  enter(lane: StartLane, request: StartRequest): void {
    this.#inUse[lane] += 1;
    this.#count(request, 1);
  }

  leave(lane: StartLane, request: StartRequest): void {
    this.#inUse[lane] -= 1;
    this.#count(request, -1);
  }

  /** The start has ended in the common lane. Its permit stays in use: it is reserved for another start. */
  reserve(request: StartRequest): void {
    this.#count(request, -1);
  }

  /** The start gets a reserved permit, which is in use already. */
  takeReservation(request: StartRequest): void {
    this.#count(request, 1);
  }

  cancelReservation(): void {
    this.#inUse.common -= 1;
  }

  #count({ critical, large }: StartRequest, change: number): void {
    if (critical) this.#critical += change;
    if (large) this.#large += change;
  }
}
