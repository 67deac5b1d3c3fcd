/** Returns a percentile by nearest rank: always a measured value. */
export function percentile(samples: readonly number[], percent: number): number {
  if (samples.length === 0) throw new Error('no samples: nothing was measured');
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!;
}

export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns the total length of the union of the intervals. */
export function unionLengthMs(intervals: readonly Interval[]): number {
  let total = 0;
  let end = -Infinity;
  for (const { startMs, endMs } of [...intervals].sort((a, b) => a.startMs - b.startMs)) {
    total += Math.max(0, endMs - Math.max(startMs, end));
    end = Math.max(end, endMs);
  }
  return total;
}

export interface TimeShares {
  /** For each group: the time in its intervals, but in none of an earlier group. */
  readonly groupsMs: readonly number[];
  /** The time in no interval. */
  readonly restMs: number;
}

/** Says where a span of time went. What reaches beyond the span does not count. */
export function computeTimeShares({ startMs, endMs }: Interval, groups: readonly (readonly Interval[])[]): TimeShares {
  const within = groups.map((intervals) =>
    intervals.flatMap((one) => {
      const cut = { startMs: Math.max(one.startMs, startMs), endMs: Math.min(one.endMs, endMs) };
      return cut.endMs > cut.startMs ? [cut] : [];
    }),
  );
  const covered = within.map((_, index) => unionLengthMs(within.slice(0, index + 1).flat()));
  const groupsMs = covered.map((ms, index) => ms - (covered[index - 1] ?? 0));
  return { groupsMs, restMs: endMs - startMs - (covered.at(-1) ?? 0) };
}
