/** RFC 3339 times with nanoseconds, as in log lines and in the query parameter `sinceTime`. */
export interface LogTime {
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  readonly nanos: number;
  /** As upstream prints it: nine digits, in the original time zone. */
  readonly text: string;
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Go's zero time, which a JSON log entry without a time has. It is before every other time. */
export const zeroTime: LogTime = { seconds: -62_135_596_800, nanos: 0, text: '0001-01-01T00:00:00.000000000Z' };

/** Cache: consecutive lines often have the same second, and parsing it is the expensive part. */
let lastSecond = { second: '', zone: '', seconds: NaN };

/** Null when the text is not a time. */
export function parseLogTime(text: string): LogTime | null {
  const match = rfc3339.exec(text);
  if (!match) return null;
  const [, second = '', fraction = '', zone = ''] = match;
  if (second !== lastSecond.second || zone !== lastSecond.zone) {
    lastSecond = { second, zone, seconds: Date.parse(second + zone) / 1000 };
  }
  const { seconds } = lastSecond;
  if (Number.isNaN(seconds)) return null;
  if (fraction.length === 9) return { seconds, nanos: Number(fraction), text };
  const nanos = fraction.slice(0, 9).padEnd(9, '0');
  return { seconds, nanos: Number(nanos), text: `${second}.${nanos}${zone}` };
}

export function isBefore(a: LogTime, b: LogTime): boolean {
  return a.seconds < b.seconds || (a.seconds === b.seconds && a.nanos < b.nanos);
}
