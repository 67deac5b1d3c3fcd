/**
 * Traces: spans of pod syncs, of calls to the runtime, of garbage collection and of requests to the kubelet's server, sent over OTLP to the collector of the
 * configuration (`tracing`). Each thread sends its own spans; a task or request carries the span that caused it, as a W3C `traceparent`, to the next thread.
 * Without the setting no thread loads the SDK, and every function here returns at once. Upstream: component-base/tracing.
 */
export { startTracing, tracingStarted } from './start-tracing.ts';
export { currentSpan, currentTraceParent, runInSpan, runWithParent, startCallSpan, startDetachedCallSpan } from './active-span.ts';
export type { Attributes, Span, TracingSettings } from './tracer.ts';
