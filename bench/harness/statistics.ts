/** Percentiles of samples, nearest rank: a value that was measured, never one between two. */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) throw new Error('no samples: nothing was measured');
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!;
}

/** How long at least one of these intervals was under way. */
export function unionLengthMs(intervals: readonly { readonly startMs: number; readonly endMs: number }[]): number {
  let total = 0;
  let end = -Infinity;
  for (const { startMs, endMs } of [...intervals].sort((a, b) => a.startMs - b.startMs)) {
    total += Math.max(0, endMs - Math.max(startMs, end));
    end = Math.max(end, endMs);
  }
  return total;
}
