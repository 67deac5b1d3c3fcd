/**
 * Parses v1 PodLogOptions from a query, with upstream's validation and error responses (pkg/kubelet/server/server.go getContainerLogs,
 * pkg/apis/core/v1/validation ValidatePodLogOptions).
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { parseLogTime, zeroTime, type LogTime } from './log-time.ts';

export type LogStream = 'stdout' | 'stderr';

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Null: all lines. */
  readonly tailLines: number | null;
  /** Null: no limit. */
  readonly limitBytes: number | null;
  /** Null: from the beginning. */
  readonly since: LogTime | null;
  /** Null: stdout and stderr. */
  readonly stream: LogStream | null;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

export type DecodedLogOptions =
  | {
      readonly options: LogOptions;
      /** Answered only if the pod and the container exist: one stream was requested while the feature gate is off. */
      readonly refusal: Refusal | null;
    }
  | { readonly options: null; readonly refusal: Refusal };

const undecodable: DecodedLogOptions = { options: null, refusal: { status: 400, message: '{"message": "Unable to decode query."}' } };
const invalid: DecodedLogOptions = { options: null, refusal: { status: 422, message: '{"message": "Invalid request."}' } };
const streams: Readonly<Record<string, LogStream | null>> = { All: null, Stdout: 'stdout', Stderr: 'stderr' };

/** Accepts `tail` too, an older name of `tailLines`. @param splitStreams whether the gate PodLogsQuerySplitStreams is on */
export function parseLogOptions(query: URLSearchParams, nowMs: number, splitStreams: boolean): DecodedLogOptions {
  const tail = query.get('tail') || null;
  const tailLines = toInt64(tail === 'all' ? null : (tail ?? query.get('tailLines')));
  const limitBytes = toInt64(query.get('limitBytes'));
  const sinceSeconds = toInt64(query.get('sinceSeconds'));
  const sinceTime = toTime(query.get('sinceTime'));
  if (tailLines === 'invalid' || limitBytes === 'invalid' || sinceSeconds === 'invalid' || sinceTime === 'invalid') return undecodable;

  const stream = query.get('stream');
  if (tailLines !== null && tailLines < 0) return invalid;
  if (limitBytes !== null && limitBytes < 1) return invalid;
  if (sinceSeconds !== null && (sinceTime !== null || sinceSeconds < 1)) return invalid;
  if (stream !== null && !Object.hasOwn(streams, stream)) return invalid;
  if (stream !== null && stream !== 'All' && tailLines !== null) return invalid;

  const options: LogOptions = {
    follow: toBool(query.get('follow')),
    previous: toBool(query.get('previous')),
    timestamps: toBool(query.get('timestamps')),
    tailLines,
    limitBytes,
    since: sinceSeconds === null ? sinceTime : secondsBefore(nowMs, sinceSeconds),
    stream: stream === null ? null : (streams[stream] ?? null),
  };
  if (options.stream === null || splitStreams) return { options, refusal: null };
  const message = `unable to return the given log stream: ${goQuote(stream ?? '')}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`;
  return { options, refusal: { status: 400, message } };
}

/** Absent, `0` and `false` are false; everything else is true, including the empty string. */
function toBool(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

/** As strconv.ParseInt. Values above 2^53 lose precision, which has no effect here. */
function toInt64(text: string | null): number | null | 'invalid' {
  if (text === null) return null;
  if (!/^[+-]?\d+$/.test(text)) return 'invalid';
  const value = BigInt(text.replace('+', ''));
  return value === BigInt.asIntN(64, value) ? Number(value) : 'invalid';
}

/** The empty string is Go's zero time. */
function toTime(text: string | null): LogTime | null | 'invalid' {
  if (text === null) return null;
  if (text === '' || text === 'null') return zeroTime;
  return parseLogTime(text) ?? 'invalid';
}

function secondsBefore(nowMs: number, seconds: number): LogTime {
  const sinceMs = nowMs - seconds * 1000;
  const wholeSeconds = Math.floor(sinceMs / 1000);
  return { seconds: wholeSeconds, nanos: Math.round((sinceMs - wholeSeconds * 1000) * 1e6), text: '' };
}
