/**
 * An error that carries a reason from the Kubernetes vocabulary. The reason becomes the event, the container's waiting reason
 * and the metric label; the message is for people, and no code reads it. Errors lose their fields between threads: what
 * crosses is a `Failure`.
 */
export interface Failure {
  readonly reason: string;
  readonly message: string;
  /** Try again no sooner than this, when the one who failed knows. */
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
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The message of an error with the messages of its causes behind it, each once. */
export function messageOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  const cause = err.cause === undefined ? '' : messageOf(err.cause);
  return cause === '' || err.message.includes(cause) ? err.message : `${err.message}: ${cause}`;
}

/** What of an error crosses to another thread. `reason` stands in where the error has none of its own. */
export function toFailure(err: unknown, reason: string): Failure {
  if (!(err instanceof KubeletError)) return { reason, message: messageOf(err) };
  const failure = { reason: err.reason, message: messageOf(err) };
  return err.retryAfterMs === undefined ? failure : { ...failure, retryAfterMs: err.retryAfterMs };
}
