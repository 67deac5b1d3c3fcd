/**
 * The OpenTelemetry span of one attempt of a call to the API server, with the attributes of Go's instrumentation (otelhttp). The request
 * carries the span's context in the header `traceparent`, so that the spans of an API server with tracing are children of this span. A
 * watch's span ends with the watch. Without tracing an attempt has no span.
 *
 * As upstream, the span is the root of a new trace. It is not a child of the span that is active here, because queues send the statuses and
 * events of many pods, and a queue runs in the async context of whichever pod filled it first.
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

  /** The headers to add to the request, as alternating names and values. */
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

/** The attribute `error.type`: the code of the operating system or of undici, else the reason of the client's error. */
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
