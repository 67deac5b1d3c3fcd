/** A tracer that records spans in memory. */
import type { Attributes, Span, SpanOptions, Tracer } from '../../../src/shared/tracing/tracer.ts';

export class RecordedSpan implements Span {
  readonly options: SpanOptions;
  readonly traceParent: string;
  attributes: Attributes;
  /** The message. Null: not failed. */
  failure: string | null = null;
  isEnded = false;

  constructor(options: SpanOptions, traceParent: string) {
    this.options = options;
    this.traceParent = traceParent;
    this.attributes = options.attributes ?? {};
  }

  setAttributes(added: Attributes): void {
    this.attributes = { ...this.attributes, ...added };
  }
  fail(message: string): void {
    this.failure = message;
  }
  end(): void {
    this.isEnded = true;
  }
}

export class RecordingTracer implements Tracer {
  #spans: RecordedSpan[] = [];
  #count = 0;

  startSpan(options: SpanOptions): RecordedSpan {
    this.#count += 1;
    const span = new RecordedSpan(options, `00-${'1'.repeat(32)}-${this.#count.toString(16).padStart(16, '0')}-01`);
    this.#spans.push(span);
    return span;
  }

  /** Returns the spans since the last call, oldest first. */
  take(): RecordedSpan[] {
    return this.#spans.splice(0);
  }
}
