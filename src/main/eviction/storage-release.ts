/**
 * Waits for the storage of containers that were removed. containerd frees a root filesystem at its next garbage collection, which on a slow node follows the
 * removal by many seconds; upstream measures at once, and evicts one pod too many.
 */
import type { Clock } from '../../shared/time/clock.ts';

/** containerd's collections are 49 times as far apart as one takes (pause_threshold 0.02), and half a second is long for one. */
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
