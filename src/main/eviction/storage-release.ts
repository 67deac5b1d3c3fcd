/**
 * Waits for the storage of containers that were removed. containerd frees a root filesystem at its next garbage collection, which on a slow node follows the
 * removal by many seconds; upstream measures at once, and evicts one pod too many.
 */
import type { Clock } from '../../shared/time/clock.ts';

/**
 * Longer than the pause between two garbage collections of containerd. With its pause_threshold of 0.02, collections take 2 % of the time, so a pause
 * is 0.98 / 0.02 = 49 times as long as a collection. A collection rarely takes more than half a second: 24.5 s.
 */
const releaseMs = 30_000;
const intervalMs = 1000;

export interface StorageReleaseOptions {
  /** Monotonic; null when no container was removed. */
  readonly removedAtMs: number | null;
  /** Measures the node. */
  readonly isScarce: () => Promise<boolean>;
  readonly clock: Clock;
}

/** Resolves as soon as the resource is no longer scarce, or when all storage has been freed. */
export async function waitForStorageRelease({ removedAtMs, isScarce, clock }: StorageReleaseOptions): Promise<void> {
  if (removedAtMs === null) return;
  const endMs = removedAtMs + releaseMs;
  while (clock.monotonic() < endMs && (await isScarce())) await clock.sleep(intervalMs);
}
