/** The header `traceparent` of W3C Trace Context, version 00. Pure. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Bit 0: the trace is sampled. */
  readonly traceFlags: number;
  /** The span is one of another thread or process. */
  readonly isRemote?: boolean;
}

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export function formatTraceParent({ traceId, spanId, traceFlags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Returns null for a malformed value. */
export function parseTraceParent(text: string): TraceContext | null {
  const [, traceId = '', spanId = '', flags = ''] = pattern.exec(text) ?? [];
  return traceId === '' ? null : { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
