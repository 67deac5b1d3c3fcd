/**
 * The API server as the rest of main sees it: a call in, a JSON object out, an ApiError otherwise. Everything about connections,
 * credentials, rates, retries and encodings is behind this; objects are plain JSON with unknown fields kept.
 */
import { KubeletError } from '../../shared/errors/kubelet-error.ts';

/**
 * Our own traffic by importance, most important first: a lease never waits behind a thousand pods. Each class has its own place in the
 * line for a request slot, not its own server.
 */
export const trafficClasses = ['lease', 'node', 'accessReview', 'tokenReview', 'status', 'objects', 'pods', 'events'] as const;
export type TrafficClass = (typeof trafficClasses)[number];

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/api/v1/nodes/n1/status`; each segment already encoded (`apiPath`). */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** JSON. */
  readonly body?: unknown;
  /** The kind of patch; only with PATCH. */
  readonly patch?: 'merge' | 'strategic' | 'json';
  readonly trafficClass: TrafficClass;
  /** For one attempt. Default: as the client was made. */
  readonly deadlineMs?: number;
  /** Tries in all for what may be tried again (429, 503, connection lost before an answer of an idempotent call). 1: once. */
  readonly maxAttempts?: number;
  readonly signal?: AbortSignal;
}

/** A line of a watch, as the server sends it. An ERROR's object is a v1 Status. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export interface ApiClient {
  /**
   * Resolves with the decoded answer of a 2xx, undefined for an empty one. Rejects with ApiError for every other, and for no answer at all
   * (`code` 0); with the signal's own reason when that aborts.
   */
  call<T>(call: ApiCall): Promise<T>;
  /**
   * A watch: the query is sent with `watch=true` added. Yields until the server ends it, and then returns; throws ApiError when it
   * can't begin, when a line can't be read (cut in mid-object, longer than the bound), or when nothing comes for longer than its
   * timeout allows. Ends at once when the signal aborts.
   */
  watch<T>(call: Pick<ApiCall, 'path' | 'query' | 'trafficClass'> & { readonly signal: AbortSignal }): AsyncIterable<WatchEvent<T>>;
  /** Calls back when calls are answered again after some seconds in which none was, until what is returned is called: for those in a back-off. */
  onRecovery(listener: () => void): () => void;
}

/**
 * The parts of a path, encoded and joined. A part that no object is called, and that a server or a proxy on the way may take for more than
 * one after it has decoded the path, is refused with an ApiError `Invalid` (apimachinery: content.IsPathSegmentName).
 */
export function apiPath(...segments: readonly string[]): string {
  const bad = segments.find((segment) => !isPathSegment(segment));
  if (bad !== undefined) throw new ApiError(0, 'Invalid', `"${bad}" can't be part of a path of the API: ${segments.join('/')}`);
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

function isPathSegment(segment: string): boolean {
  return !['', '.', '..'].includes(segment) && !/[/%]/.test(segment) && segment.isWellFormed();
}

/** What the server said, or that it said nothing. `reason` is the Status' reason (NotFound, AlreadyExists, Conflict, Invalid, Expired, …) or, of our own, `Unreachable`, `Timeout`, `Unreadable`; code 0 with `Unauthorized`: we have no credentials to show. */
export class ApiError extends KubeletError {
  /** HTTP status; 0: no answer. */
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

/** The resource version is too old to go on from: list again. */
export function isExpired(err: unknown): boolean {
  return err instanceof ApiError && (err.code === 410 || err.reason === 'Expired' || err.reason === 'ResourceExpired');
}
