/**
 * When a probe runs (upstream worker.go: run and doProbe). All times are ms of the monotonic clock; the container's age is computed once from the wall clock,
 * when the container is first seen, so that a jump of the wall clock later changes nothing.
 */

export interface FirstRun {
  readonly nowMs: number;
  /** Time since the container has started. */
  readonly containerAgeMs: number;
  /** Time since this thread has started. */
  readonly threadAgeMs: number;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  /** The status waits for the first result: until then the container is unready, or has not started up. */
  readonly isAwaited: boolean;
  /** From 0 to 1. */
  readonly random: number;
}

/**
 * A container that starts under a running kubelet is probed at the end of its initial delay. The containers that a starting kubelet finds are spread over
 * their periods, so that their probes do not run all at once. Awaited probes are not spread, because a standalone kubelet does not know the results from before
 * its restart: a container that was ready would be unready for up to a period.
 */
export function computeFirstRun({ nowMs, containerAgeMs, threadAgeMs, initialDelayMs, periodMs, isAwaited, random }: FirstRun): number {
  const delayLeftMs = Math.max(0, initialDelayMs - containerAgeMs);
  const isSpread = containerAgeMs > threadAgeMs && threadAgeMs < periodMs && !isAwaited;
  return nowMs + Math.max(delayLeftMs, isSpread ? random * periodMs : 0);
}

/** Returns the first due time after now. Due times that have passed are skipped, so that a probe does not run several times after one delay. */
export function computeNextRun(lastDueMs: number, periodMs: number, nowMs: number): number {
  const periods = Math.max(1, Math.floor((nowMs - lastDueMs) / periodMs) + 1);
  return lastDueMs + periods * periodMs;
}
