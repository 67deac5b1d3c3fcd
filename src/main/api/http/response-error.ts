/**
 * Converts a response other than 2xx to an ApiError: from the v1 Status in the body, or from the status code where a proxy wrote the body
 * (upstream client-go/rest transformResponse, apimachinery NewGenericServerResponse).
 */
import { isMap } from '../../config/field-codecs.ts';
import { ApiError, type ApiCall } from '../api-client.ts';

/** Identifies a call in messages. */
export interface CallName {
  readonly method: ApiCall['method'] | 'WATCH';
  readonly path: string;
}

/** The characters quoted of a body that is not a Status. Upstream's 2048 fill a terminal with a proxy's HTML. */
const maxQuoted = 256;

/** Caps Retry-After. A load balancer's maintenance page may ask for an hour although the maintenance takes a minute. */
export const maxRetryAfterMs = 120_000;

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** @param retryAfter the value of the header Retry-After */
export function responseError(call: CallName, code: number, body: Buffer, retryAfter: string | undefined): ApiError {
  const status = readStatus(body);
  const retryAfterMs = secondsToMs(status?.retryAfterSeconds) ?? retryAfterHeaderMs(retryAfter);
  const options = retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, maxRetryAfterMs) };
  const reason = status?.reason || reasonOf(code, call.method);
  const message = status?.message || `the server answered ${code} (${reason}) to ${call.method} ${call.path}${quoteBody(body)}`;
  return new ApiError(code, reason, message, options);
}

/** Reads whole seconds. API servers and client-go do not use dates. */
export function retryAfterHeaderMs(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1000 : undefined;
}

function reasonOf(code: number, method: CallName['method']): string {
  if (code === 409 && method === 'POST') return 'AlreadyExists';
  return reasons[code] ?? (code >= 500 ? 'InternalError' : 'Unknown');
}

function readStatus(body: Buffer): { reason: string; message: string; retryAfterSeconds: unknown } | undefined {
  try {
    const status: unknown = JSON.parse(body.toString('utf8'));
    if (!isMap(status) || status['kind'] !== 'Status') return undefined;
    const { reason, message, details } = status;
    return {
      reason: typeof reason === 'string' ? reason : '',
      message: typeof message === 'string' ? message : '',
      retryAfterSeconds: isMap(details) ? details['retryAfterSeconds'] : undefined,
    };
  } catch {
    return undefined;
  }
}

function secondsToMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function quoteBody(body: Buffer): string {
  const text = body
    .toString('utf8', 0, 4 * maxQuoted)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  if (text === '') return '';
  return `: ${text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text}`;
}
