/**
 * The interface to the API server: a call resolves with a JSON object or rejects with an ApiError. Connections, credentials, rate limits,
 * retries and encodings are the implementation's. Objects are plain JSON and keep unknown fields.
 */
import { KubeletError } from '../../shared/errors/kubelet-error.ts';

/**
 * The kubelet's own traffic by priority, highest first, so that a lease never waits behind a thousand pods. The class sets a call's place
 * in the queue for a request slot.
 */
export const trafficClasses = ['lease', 'node', 'accessReview', 'tokenReview', 'status', 'objects', 'pods', 'events'] as const;
export type TrafficClass = (typeof trafficClasses)[number];

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** For example `/api/v1/nodes/n1/status`. Each segment is already encoded (`apiPath`). */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Only with PATCH. */
  readonly patch?: 'merge' | 'strategic' | 'json';
  readonly trafficClass: TrafficClass;
  /** `metadata`: the answer has only the metadata of the object, from a server that supports it. */
  readonly answer?: 'metadata' | undefined;
  /** The UID of the pod that needs the call: the many calls of one pod wait behind the few of others. */
  readonly podUID?: string | undefined;
  /** Limits one attempt. Default: the client's own deadline. */
  readonly deadlineMs?: number;
  /** Limits all attempts of a call that may be retried (429, 503, connection lost before the response to an idempotent call). 1: no retry. */
  readonly maxAttempts?: number;
  readonly signal?: AbortSignal;
}

/** One event of a watch, as the server sends it. The object of an ERROR is a v1 Status. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
  /** Why the object was not read. It then has only the metadata that identifies it. */
  readonly problem?: string;
  /** The event was held back, and later events came before it. No newer version of its object has arrived. */
  readonly isLate?: true;
}

export interface ApiClient {
  /**
   * Resolves with the decoded body of a 2xx response, or undefined for an empty body. Rejects with ApiError for any other response and for
   * no response (`code` 0), and with the signal's reason when the signal aborts.
   */
  call<T>(call: ApiCall): Promise<T>;
  /**
   * Sends the query with `watch=true` and yields events until the server ends the watch. Throws ApiError when the watch can't start, when
   * a line can't be read (truncated, or too long without saying what it is about), or when nothing arrives for longer than the watch's timeout allows.
   * Returns at once when the signal aborts.
   */
  watch<T>(call: Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal }): AsyncIterable<WatchEvent<T>>;
  /** Calls the listener when calls succeed again after an outage of some seconds, so that it can end its back-off. Returns an unsubscribe function. */
  onRecovery(listener: () => void): () => void;
}

/**
 * Encodes and joins the segments of a path. Throws an ApiError `Invalid` for a segment that is not a valid object name: a server or a proxy
 * could read such a segment as several after decoding the path (apimachinery: content.IsPathSegmentName).
 */
export function apiPath(...segments: readonly string[]): string {
  const invalidSegment = segments.find((segment) => !isPathSegment(segment));
  if (invalidSegment !== undefined)
    throw new ApiError(0, 'Invalid', `"${invalidSegment}" can't be part of a path of the API: ${segments.join('/')}`);
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

function isPathSegment(segment: string): boolean {
  return !['', '.', '..'].includes(segment) && !/[/%]/.test(segment) && segment.isWellFormed();
}

/**
 * The server's error response, or the lack of any response. `reason` is the reason of the Status (NotFound, AlreadyExists, Conflict, Invalid,
 * Expired, …) or one of the client's own: `Unreachable`, `Timeout`, `Unreadable`, `TooLarge`. Code 0 with `Unauthorized` means that the client has no
 * credentials.
 */
export class ApiError extends KubeletError {
  /** The HTTP status. 0: no response. */
  readonly code: number;

  constructor(code: number, reason: string, message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(reason, message, options);
    this.code = code;
  }
}

export function isNotFound(err: unknown): boolean {
  return err instanceof ApiError && err.code === 404;
}

export function isConflict(err: unknown): boolean {
  return err instanceof ApiError && err.code === 409 && err.reason !== 'AlreadyExists';
}

export function isAlreadyExists(err: unknown): boolean {
  return err instanceof ApiError && err.code === 409 && err.reason === 'AlreadyExists';
}

/** True when the server no longer has the resource version. The caller must list again. */
export function isExpired(err: unknown): boolean {
  return err instanceof ApiError && (err.code === 410 || err.reason === 'Expired' || err.reason === 'ResourceExpired');
}

/** The response is longer than the client reads. */
export function isTooLarge(err: unknown): boolean {
  return err instanceof ApiError && err.code === 0 && err.reason === 'TooLarge';
}
