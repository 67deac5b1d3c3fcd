/**
 * The span of one attempt of a call to the API server, with the attributes of Go's instrumentation (otelhttp). The API server gets its context, so that one
 * with tracing refers to it. A watch's span ends with the watch. Without tracing an attempt has no span.
 *
 * It begins a trace, as upstream's: statuses and events of many pods leave in queues, which run in the context of the call that was first to fill them.
 */
import { startDetachedCallSpan, type Attributes, type Span } from '../../../shared/tracing/index.ts';

const scope = 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp';

export class AttemptSpan {
  readonly #span: Span | undefined;

  private constructor(span: Span | undefined) {
    this.#span = span;
  }

  static start(method: string, url: URL): AttemptSpan {
    return new AttemptSpan(startDetachedCallSpan(() => ({ scope, name: `HTTP ${method}`, attributes: requestAttributes(method, url) })));
  }

  /** Alternating names and values. */
  get headers(): readonly string[] {
    return this.#span ? ['traceparent', this.#span.traceParent] : [];
  }

  answered(code: number): void {
    this.#span?.setAttributes({ 'http.response.status_code': code, ...(code >= 400 && { 'error.type': String(code) }) });
    if (code >= 400) this.#span?.fail('');
  }

  failed(err: Error): void {
    this.#span?.setAttributes({ 'error.type': errorTypeOf(err) });
    this.#span?.fail(err.message);
  }

  end(): void {
    this.#span?.end();
  }
}

/** The code of the operating system or of undici, else the reason of the client's error. */
export function errorTypeOf(err: Error): string {
  let reason = err.name;
  for (let cause: unknown = err; cause instanceof Error; cause = cause.cause) {
    const { code, reason: own } = cause as { readonly code?: unknown; readonly reason?: unknown };
    if (typeof code === 'string') return code;
    if (typeof own === 'string') reason = own;
  }
  return reason;
}

function requestAttributes(method: string, url: URL): Attributes {
  return {
    'http.request.method': method,
    'url.full': url.href,
    'server.address': url.hostname,
    // Empty: the default of the scheme.
    ...(url.port !== '' && { 'server.port': Number(url.port) }),
  };
}
