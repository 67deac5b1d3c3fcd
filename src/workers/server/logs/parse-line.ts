/**
 * Parses one line of a log file, in the CRI format (`2016-10-06T00:17:09.669794202Z stdout P log content`) or in Docker's JSON format.
 * Upstream: k8s.io/cri-client/pkg/logs parseCRILog, parseDockerJSONLog.
 */
import type { LogStream } from './log-options.ts';
import { parseLogTime, zeroTime, type LogTime } from './log-time.ts';

export interface LineHeader {
  readonly time: LogTime;
  readonly stream: LogStream;
  /** The container's line continues in the next log line. The newline was added by the runtime. */
  readonly partial: boolean;
}

export interface LogLine extends LineHeader {
  /** Includes the newline that the container wrote. */
  readonly content: Buffer;
}

const newline = 0x0a;
const space = 0x20;
const colon = 0x3a;
/** `P` marks a partial line. `F` and everything else mark a full one. */
const partialTag = 0x50;
const streamNames: Readonly<Record<string, LogStream | undefined>> = { ' stdout ': 'stdout', ' stderr ': 'stderr' };
/** A time with nine digits and an offset has 35 characters. */
const maxTimeLength = 64;

/** Parses the start of a CRI line, which may be incomplete. `contentAt` is the offset of the content. Null when it is not a CRI line. */
export function parseCriHeader(line: Buffer): (LineHeader & { readonly contentAt: number }) | null {
  const timeEnd = line.indexOf(space);
  if (timeEnd < 0 || timeEnd > maxTimeLength) return null;
  const time = parseLogTime(line.toString('latin1', 0, timeEnd));
  if (!time) return null;
  const tagsAt = timeEnd + ' stdout '.length;
  const stream = streamNames[line.toString('latin1', timeEnd, tagsAt)];
  if (!stream) return null;
  const tagsEnd = line.indexOf(space, tagsAt);
  if (tagsEnd < 0) return null;
  // Colons separate tags.
  const firstTagIsOneLetter = tagsEnd === tagsAt + 1 || line[tagsAt + 1] === colon;
  return { time, stream, partial: firstTagIsOneLetter && line[tagsAt] === partialTag, contentAt: tagsEnd + 1 };
}

/** Parses a complete line, with or without its newline. */
export function parseCriLine(line: Buffer): LogLine | null {
  const header = parseCriHeader(line);
  if (!header) return null;
  const { time, stream, partial, contentAt } = header;
  const end = partial && line.at(-1) === newline ? line.length - 1 : line.length;
  return { time, stream, partial, content: line.subarray(Math.min(contentAt, end), end) };
}

export function parseDockerLine(line: Buffer): LogLine | null {
  let entry: unknown;
  try {
    entry = JSON.parse(line.toString('utf8'));
  } catch {
    return null;
  }
  if (typeof entry !== 'object' || entry === null) return null;
  const { log = '', stream, time } = entry as { log?: unknown; stream?: unknown; time?: unknown };
  const timestamp = time === undefined ? zeroTime : typeof time === 'string' ? parseLogTime(time) : null;
  if (typeof log !== 'string' || (stream !== 'stdout' && stream !== 'stderr') || !timestamp) return null;
  return { time: timestamp, stream, partial: !log.endsWith('\n'), content: Buffer.from(log) };
}
