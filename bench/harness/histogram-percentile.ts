/** A percentile of what a histogram of a metrics page has observed between two readings. */

/** Returns the upper bound of the percentile's bucket, over all series of the metric; NaN when nothing was observed. */
export function histogramPercentile(metric: string, before: string, after: string, percent: number): number {
  const counts = bucketCounts(metric, after);
  for (const [bound, count] of bucketCounts(metric, before)) counts.set(bound, (counts.get(bound) ?? 0) - count);
  const total = counts.get(Infinity) ?? 0;
  if (total === 0) return NaN;
  const bounds = [...counts.keys()].sort((a, b) => a - b);
  return bounds.find((bound) => counts.get(bound)! >= (percent / 100) * total) ?? NaN;
}

/** Cumulative, by bound. */
function bucketCounts(metric: string, page: string): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [, bound = '', count] of page.matchAll(new RegExp(`^${metric}_bucket\\{.*le="([^"]+)"\\} (\\S+)$`, 'gm'))) {
    const value = bound === '+Inf' ? Infinity : Number(bound);
    counts.set(value, (counts.get(value) ?? 0) + Number(count));
  }
  return counts;
}
