/** Parses and formats Go durations (`1h2m0.5s`). The unit is milliseconds, with fractions down to Go's nanosecond. */
import { goDuration, goQuote } from './go-text.ts';

const nanosPerUnit: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
/** Go counts nanoseconds in 63 bits, about 292 years. */
const maxNanos = 2 ** 63;
const part = /([0-9]*)(\.[0-9]*)?([^0-9.]*)/gy;

/** Throws with Go's message, for example `time: invalid duration "1x"`. */
export function parseDuration(text: string): number {
  const unsigned = text.replace(/^[-+]/, '');
  if (unsigned === '0') return 0;
  const invalid = (): Error => new Error(`time: invalid duration ${goQuote(text)}`);
  if (unsigned === '') throw invalid();
  let nanos = 0;
  part.lastIndex = 0;
  while (part.lastIndex < unsigned.length) {
    const [, whole = '', fraction = '', unit = ''] = part.exec(unsigned) ?? [];
    if (whole === '' && (fraction === '' || fraction === '.')) throw invalid();
    if (unit === '') throw new Error(`time: missing unit in duration ${goQuote(text)}`);
    const perUnit = Object.hasOwn(nanosPerUnit, unit) ? nanosPerUnit[unit] : undefined;
    if (perUnit === undefined) throw new Error(`time: unknown unit ${goQuote(unit)} in duration ${goQuote(text)}`);
    nanos += Number(whole) * perUnit + Math.trunc(Number(`0${fraction}`) * perUnit);
  }
  if (nanos >= maxNanos) throw invalid();
  return (text.startsWith('-') ? -nanos : nanos) / 1e6;
}

/** Formats a duration as Go does: `1m0s`, `100ms`, `0s`. */
export const formatDuration: (ms: number) => string = goDuration;
