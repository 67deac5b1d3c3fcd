/**
 * An error with a reason from the Kubernetes vocabulary. The reason becomes the event's reason, the container's waiting reason and a metric label.
 * The message is for people; no code reads it. An error loses its fields between threads, so threads exchange a `Failure`.
 */
import { cutMessage } from './cut-message.ts';

export interface Failure {
  readonly reason: string;
  readonly message: string;
  /** The minimum delay before a retry, if known. */
  readonly retryAfterMs?: number;
}

export interface KubeletErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterMs?: number;
}

export class KubeletError extends Error {
  override readonly name = 'KubeletError';
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, message: string, options: KubeletErrorOptions = {}) {
    super(cutMessage(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The message of an error, followed by the messages of its causes. Omits a cause whose message is part of the error's message. */
export function messageOf(err: unknown): string {
  if (!(err instanceof Error)) return cutMessage(String(err));
  const message = cutMessage(err.message);
  const cause = err.cause === undefined ? '' : messageOf(err.cause);
  return cause === '' || message.includes(cause) ? message : cutMessage(`${message}: ${cause}`);
}

/** Converts an error for another thread. `reason` is used when the error has none. */
export function toFailure(err: unknown, reason: string): Failure {
  if (!(err instanceof KubeletError)) return { reason, message: messageOf(err) };
  const failure = { reason: err.reason, message: messageOf(err) };
  return err.retryAfterMs === undefined ? failure : { ...failure, retryAfterMs: err.retryAfterMs };
}
