/**
 * The span in which a thread's current asynchronous call runs. A thread without a tracer stores nothing and calls through.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span, SpanOptions, Tracer } from './tracer.ts';

interface ActiveSpan {
  readonly traceParent: string;
  /** Absent when the span belongs to another thread. */
  readonly span?: Span;
}

const active = new AsyncLocalStorage<ActiveSpan>();
let tracer: Tracer | null = null;

/** Called once per thread. */
export function bindTracer(bound: Tracer | null): void {
  tracer = bound;
}

/** The span of this thread in which the caller runs. */
export function currentSpan(): Span | undefined {
  return active.getStore()?.span;
}

/** Returns the `traceparent` for a message to another thread. Undefined outside of a span, and without tracing. */
export function currentTraceParent(): string | undefined {
  return tracer === null ? undefined : active.getStore()?.traceParent;
}

/**
 * Runs the function in a new span, which ends with the function. The span begins a new trace and ignores the current span: a pod worker, for example, may have been
 * started in the context of another pod. A rejection marks the span as failed. `options` is called only when traces are enabled.
 */
export async function runInSpan<T>(options: () => Omit<SpanOptions, 'parent'>, run: () => Promise<T>): Promise<T> {
  if (tracer === null) return run();
  const span = tracer.startSpan(options());
  try {
    return await active.run({ traceParent: span.traceParent, span }, run);
  } catch (err) {
    if (err instanceof Error) span.fail(err.message, err.name);
    throw err;
  } finally {
    span.end();
  }
}

/** Runs the function as a part of another thread's span. */
export function runWithParent<T>(traceParent: string | undefined, run: () => T): T {
  return tracer === null || traceParent === undefined ? run() : active.run({ traceParent }, run);
}

/** Starts the span of a call to another process. The caller ends it. */
export function startCallSpan(options: () => Omit<SpanOptions, 'parent' | 'kind'>): Span | undefined {
  return tracer?.startSpan({ ...options(), kind: 'client', parent: active.getStore()?.traceParent });
}

/** Starts the span of a call that belongs to no other span, such as a call that serves several pods. The caller ends it. */
export function startDetachedCallSpan(options: () => Omit<SpanOptions, 'parent' | 'kind'>): Span | undefined {
  return tracer?.startSpan({ ...options(), kind: 'client' });
}
