/** What the kubelet needs of a tracer, so that no other part depends on the SDK. */
export interface TracingSettings {
  /** The collector, as gRPC resolves it: `localhost:4317`, `unix:///run/otel.sock`. */
  readonly endpoint: string;
  /** How many of a million traces that begin here are sent. A span with a parent follows its parent. */
  readonly samplingRatePerMillion: number;
  /** The resource's `host.name`. */
  readonly hostName: string;
}

export type Attributes = Readonly<Record<string, string | number>>;

export interface Span {
  /** Names the span to other threads and processes (W3C Trace Context). */
  readonly traceParent: string;
  setAttributes(attributes: Attributes): void;
  /** Marks the span as failed. With the type of an exception, the exception is one of its events. */
  fail(message: string, exceptionType?: string): void;
  end(): void;
}

export interface SpanOptions {
  /** The instrumentation scope: the Go package whose span has this name upstream. */
  readonly scope: string;
  readonly name: string;
  readonly kind?: 'internal' | 'client' | 'server';
  readonly attributes?: Attributes;
  /** Absent: the span begins a trace. */
  readonly parent?: string | undefined;
}

export interface Tracer {
  startSpan(options: SpanOptions): Span;
}
