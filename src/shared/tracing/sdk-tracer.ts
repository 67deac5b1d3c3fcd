/**
 * The tracer of one thread, from OpenTelemetry's SDK: sampling, batches, limits. Loaded only when traces are enabled. Upstream: NewProvider in
 * component-base/tracing.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type SpanContext, type Tracer as SdkTracer } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../log/logger.ts';
import { OtlpExporter } from './otlp-exporter.ts';
import { formatTraceParent, parseTraceParent } from './trace-parent.ts';
import type { Span, Tracer, TracingSettings } from './tracer.ts';

/** The SDK's defaults. Spans are dropped while `queueSize` spans wait for the collector. */
const queueSize = 2048;
const batchSize = 512;
const batchDelayMs = 5000;
/** The deadline of one batch. The SDK's own time-out is a second longer, so that the exporter reports the failure, with the reason. */
export const exportDeadlineMs = 10_000;
/** Limits attributes and messages: failed syncs quote texts of any length from registries and runtimes. */
const maxValueLength = 4096;

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER };

export function createTracer({ endpoint, samplingRatePerMillion, hostName }: TracingSettings, logger: Logger): Tracer {
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({
      root: samplingRatePerMillion > 0 ? new TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000) : new AlwaysOffSampler(),
    }),
    resource: resourceFromAttributes({ 'service.name': 'kubelet', 'host.name': hostName }),
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OtlpExporter({ endpoint, deadlineMs: exportDeadlineMs, logger }),
        maxQueueSize: queueSize,
        maxExportBatchSize: batchSize,
        scheduledDelayMillis: batchDelayMs,
        exportTimeoutMillis: exportDeadlineMs + 1000,
      }),
    ],
  });
  const tracers = new Map<string, SdkTracer>();
  const tracerOf = (scope: string): SdkTracer => {
    const tracer = tracers.get(scope) ?? provider.getTracer(scope);
    tracers.set(scope, tracer);
    return tracer;
  };
  return {
    startSpan({ scope, name, kind = 'internal', attributes = {}, parent }) {
      const remote = parent === undefined ? null : parseTraceParent(parent);
      const context = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote satisfies SpanContext);
      const span = tracerOf(scope).startSpan(name, { kind: kinds[kind], attributes }, context);
      return {
        traceParent: formatTraceParent(span.spanContext()),
        setAttributes: (added) => void span.setAttributes(added),
        fail: (message, exceptionType) => {
          if (exceptionType !== undefined) span.recordException({ name: exceptionType, message });
          span.setStatus({ code: SpanStatusCode.ERROR, message: message.slice(0, maxValueLength) });
        },
        end: () => span.end(),
      } satisfies Span;
    },
  };
}
