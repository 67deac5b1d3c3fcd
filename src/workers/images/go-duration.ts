/** Durations as Go prints them, to the millisecond: `45ms`, `1.203s`, `2m3.5s`. */
export function formatGoDuration(ms: number): string {
  const whole = Math.floor(ms);
  if (whole < 1000) return whole === 0 ? '0s' : `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1000}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
