/** Times that other processes have written down, on the clock of the benchmarks. */
import { monotonicMs } from '../../src/shared/time/clock.ts';

/** Returns epoch ms with fractions, which `Date.parse` cuts off: the API server writes microseconds, containerd nanoseconds. NaN when the text is no time in UTC. */
export function parsePreciseMs(text: string): number {
  const { second, fraction } = /^(?<second>[^.Z]+)(?:\.(?<fraction>\d+))?Z$/.exec(text)?.groups ?? {};
  return Date.parse(`${second}Z`) + Number(`0.${fraction ?? ''}`) * 1000;
}

/** What has to be added to epoch ms for monotonic ms. Read shortly after the event, because the wall clock is adjusted. */
export function epochToMonotonicMs(): number {
  return monotonicMs() - Date.now();
}
