/**
 * A log record as a line: klog's text format, or Kubernetes' JSON format (upstream: klog's text logger; component-base/logs/json).
 * Where klog names a source file, the line names the component.
 */
import { goQuote } from '../kubernetes/go-text.ts';
import { verbosityOfLevel } from './verbosity.ts';

/** What pino hands over. The three names with a `$` are ours, so that no field of a caller can pass for them. */
export interface LogRecord {
  readonly $level: number;
  readonly $time: number;
  readonly $msg?: string;
  readonly component?: string;
  readonly err?: unknown;
  readonly [field: string]: unknown;
}

/** pino's numbers. */
const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
/** One value longer than this many characters is cut: a log line is no place for a whole object. */
const maxValueLength = 16 * 1024;

export function isError(record: LogRecord): boolean {
  return record.$level >= levels.error;
}

/** `I1121 11:10:00.123000   12345 component] "message" err="…" key="value"`, ending in a line break. */
export function renderText(record: LogRecord, pid: number): string {
  const { $level, $time, $msg, component, err, ...fields } = record;
  let line = `${severity($level)}${klogTime(new Date($time))} ${String(pid).padStart(7)} ${component ?? 'kubelet'}] ${goQuote(cut($msg ?? ''))}`;
  if (err !== undefined) line += textField('err', err);
  for (const [key, value] of Object.entries(fields)) line += textField(key, value);
  return `${line}\n`;
}

/** `{"ts":1700000000000,"caller":"component","msg":"…","v":0,"key":"value","err":"…"}`, ending in a line break. */
export function renderJSON(record: LogRecord): string {
  const { $level, $time, $msg, component, err, ...fields } = record;
  const line: Record<string, unknown> = { ts: $time, caller: component ?? 'kubelet', msg: cut($msg ?? '') };
  if (!isError(record)) line['v'] = verbosity($level);
  for (const [key, value] of Object.entries(fields)) line[Object.hasOwn(line, key) ? `${key}_` : key] = bounded(value);
  if (err !== undefined) line['err'] = bounded(err);
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

/** Month, day and local time; klog prints microseconds, of which the last three are not known here. */
function klogTime(time: Date): string {
  const two = (n: number): string => String(n).padStart(2, '0');
  const date = `${two(time.getMonth() + 1)}${two(time.getDate())}`;
  const ofDay = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`;
}

/**
 * Strings are quoted; several lines are shown as they are, each behind a tab, so that a reader sees where they end:
 * no line of the value can look like its end, which stands behind a space.
 */
function textField(key: string, value: unknown): string {
  if (typeof value !== 'string') return ` ${key}=${cut(JSON.stringify(value))}`;
  const text = cut(value);
  if (!text.includes('\n')) return ` ${key}=${goQuote(text)}`;
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n').map((line) => `\t${line}\n`);
  return ` ${key}=<\n${lines.join('')} >`;
}

/** The value itself unless it is too long; then the beginning of its text. */
function bounded(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= maxValueLength ? value : cut(text);
}

function cut(text: string): string {
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}… (${text.length - maxValueLength} more)`;
}
