/**
 * Names of rotated logs: `<log>.<YYYYMMDD-HHMMSS>` in the node's local time, `.gz` when compressed, `.tmp` while being compressed (upstream
 * pkg/kubelet/logs/container_log_manager.go). The rotation writes them, and followers of a log find its next file by them. Pure.
 */

/** `temporary`: an incomplete archive. */
export type RotatedLogKind = 'plain' | 'compressed' | 'temporary';

export interface RotatedLogName {
  readonly fileName: string;
  /** `20060102-150405`. Orders the rotations of one log. */
  readonly timestamp: string;
  readonly kind: RotatedLogKind;
}

const pattern = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)((?:\.gz|\.tmp)?)$/;
const kinds: Readonly<Record<string, RotatedLogKind>> = { '': 'plain', '.gz': 'compressed', '.tmp': 'temporary' };
const dayMs = 24 * 3600 * 1000;

/** Null for a file that is not a rotation of `log`. */
export function parseRotatedLogName(log: string, fileName: string): RotatedLogName | null {
  if (!fileName.startsWith(`${log}.`)) return null;
  const match = pattern.exec(fileName.slice(log.length + 1));
  if (!match) return null;
  const timestamp = fileName.slice(log.length + 1, log.length + 1 + '20060102-150405'.length);
  // 31 February is no rotation's time.
  if (format(toCalendarMs(timestamp)) !== timestamp) return null;
  return { fileName, timestamp, kind: kinds[match[7]!]! };
}

/**
 * Compares two rotations of one log by age, oldest first. A timestamp more than a day ahead is from a time when the clock was wrong: it counts as
 * older than all others.
 */
export function compareRotations(nowMs: number): (a: string, b: string) => number {
  const limit = format(toLocalCalendarMs(nowMs) + dayMs);
  return (a, b) => Number(a <= limit) - Number(b <= limit) || (a < b ? -1 : Number(a > b));
}

/**
 * Returns the timestamp of a new rotation: the current time, or one second after the newest rotation when the clock went back or the
 * second is taken. A new rotation is always the newest, and never replaces another one.
 */
export function nextRotationTimestamp(timestamps: readonly string[], nowMs: number): string {
  const now = format(toLocalCalendarMs(nowMs));
  const newest = timestamps.toSorted(compareRotations(nowMs)).at(-1);
  if (newest === undefined || newest < now || newest > format(toLocalCalendarMs(nowMs) + dayMs)) return now;
  return format(toCalendarMs(newest) + 1000);
}

/** Local time as if it were UTC, so that daylight saving time does not affect calculations. */
function toLocalCalendarMs(nowMs: number): number {
  return nowMs - new Date(nowMs).getTimezoneOffset() * 60_000;
}

function toCalendarMs(timestamp: string): number {
  const [, year, month, day, hour, minute, second] = pattern.exec(timestamp)!.map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}

/** `20060102-150405`. */
function format(calendarMs: number): string {
  const [date = '', time = ''] = new Date(calendarMs).toISOString().split('T');
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}
