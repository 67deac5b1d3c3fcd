/** Returns a percentile by nearest rank: always a measured value. */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) throw new Error('no samples: nothing was measured');
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!;
}

/** Returns the total length of the union of the intervals. */
export function unionLengthMs(intervals: readonly { readonly startMs: number; readonly endMs: number }[]): number {
  let total = 0;
  let end = -Infinity;
  for (const { startMs, endMs } of [...intervals].sort((a, b) => a.startMs - b.startMs)) {
    total += Math.max(0, endMs - Math.max(startMs, end));
    end = Math.max(end, endMs);
  }
  return total;
}
