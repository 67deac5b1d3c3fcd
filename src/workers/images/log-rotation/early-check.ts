/**
 * Decides when a log that grows fast is checked again. Upstream checks all logs once in containerLogMonitorInterval: a container that writes
 * 100 MB/s has then written 1 GB into a log of at most 10 MiB. Pure.
 */

/** Fast logs are checked at most once a second, so a log is rotated at most once a second. */
const minCheckMs = 1000;

export interface LogGrowth {
  readonly sizeBytes: number;
  /** The bytes that were written in the last `elapsedMs`. */
  readonly grownBytes: number;
  readonly elapsedMs: number;
}

export interface CheckLimits {
  readonly maxSizeBytes: number;
  readonly monitorIntervalMs: number;
}

/** Returns after how many ms the log reaches its limit at its present rate; null when the next check of all logs is early enough. */
export function computeEarlyCheckMs({ sizeBytes, grownBytes, elapsedMs }: LogGrowth, limits: CheckLimits): number | null {
  const { maxSizeBytes, monitorIntervalMs } = limits;
  if (grownBytes <= 0 || elapsedMs <= 0) return null;
  const fullInMs = Math.max(0, maxSizeBytes - sizeBytes) / (grownBytes / elapsedMs);
  return fullInMs < monitorIntervalMs ? Math.max(minCheckMs, Math.ceil(fullInMs)) : null;
}
