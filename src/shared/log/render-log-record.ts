/**
 * Renders a log record as a line in klog's text format, or in Kubernetes' JSON format (upstream: klog's text logger; component-base/logs/json). A line has
 * the component in the place of klog's source file.
 */
import { goQuote } from '../kubernetes/go-text.ts';
import { verbosityOfLevel } from './verbosity.ts';

/** Pino's record. The three keys with a `$` are configured in create-logger.ts, so that no field of a caller can replace them. */
export interface LogRecord {
  readonly $level: number;
  readonly $time: number;
  readonly $msg?: string;
  readonly component?: string;
  readonly err?: unknown;
  readonly [field: string]: unknown;
}

/** Pino's level numbers. */
const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
/** Longer values are truncated: a log line should not have whole objects. */
const maxValueLength = 16 * 1024;

export function isError(record: LogRecord): boolean {
  return record.$level >= levels.error;
}

/** `I1121 11:10:00.123000   12345 component] "message" err="…" key="value"`, ending in a line break. */
export function renderText(record: LogRecord, pid: number): string {
  const { $level, $time, $msg, component, err, ...fields } = record;
  let line = `${severity($level)}${klogTime(new Date($time))} ${String(pid).padStart(7)} ${component ?? 'kubelet'}] ${goQuote(truncate($msg ?? ''))}`;
  if (err !== undefined) line += textField('err', err);
  for (const [key, value] of Object.entries(fields)) line += textField(key, value);
  return `${line}\n`;
}

/** `{"ts":1700000000000,"caller":"component","msg":"…","v":0,"key":"value","err":"…"}`, ending in a line break. */
export function renderJSON(record: LogRecord): string {
  const { $level, $time, $msg, component, err, ...fields } = record;
  const line: Record<string, unknown> = { ts: $time, caller: component ?? 'kubelet', msg: truncate($msg ?? '') };
  if (!isError(record)) line['v'] = verbosity($level);
  for (const [key, value] of Object.entries(fields)) line[Object.hasOwn(line, key) ? `${key}_` : key] = truncateValue(value);
  if (err !== undefined) line['err'] = truncateValue(err);
  return `${JSON.stringify(line)}\n`;
}

function severity(level: number): 'I' | 'W' | 'E' | 'F' {
  if (level >= levels.fatal) return 'F';
  if (level >= levels.error) return 'E';
  return level >= levels.warn ? 'W' : 'I';
}

function verbosity(level: number): number {
  if (level >= levels.info) return verbosityOfLevel.info;
  return level >= levels.debug ? verbosityOfLevel.debug : verbosityOfLevel.trace;
}

/** Month, day and local time. klog prints microseconds; the last three digits are always 0 here. */
function klogTime(time: Date): string {
  const twoDigits = (n: number): string => String(n).padStart(2, '0');
  const date = `${twoDigits(time.getMonth() + 1)}${twoDigits(time.getDate())}`;
  const ofDay = `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}:${twoDigits(time.getSeconds())}`;
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`;
}

/**
 * Quotes a string. The lines of a multi-line string are printed unquoted, each after a tab: the end marker follows a space, so that no line of the value can
 * be mistaken for the end.
 */
function textField(key: string, value: unknown): string {
  if (typeof value !== 'string') return ` ${key}=${truncate(JSON.stringify(value))}`;
  const text = truncate(value);
  if (!text.includes('\n')) return ` ${key}=${goQuote(text)}`;
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n').map((line) => `\t${line}\n`);
  return ` ${key}=<\n${lines.join('')} >`;
}

/** The value, or the beginning of its text if it is too long. */
function truncateValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= maxValueLength ? value : truncate(text);
}

function truncate(text: string): string {
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}… (${text.length - maxValueLength} more)`;
}
