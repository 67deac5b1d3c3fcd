/**
 * Sends batches of spans to a collector: OTLP over gRPC, without TLS, as upstream. A batch that is not accepted within its deadline is dropped; there is
 * no retry, since the next batch follows soon.
 */
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../log/logger.ts';

const exportPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
/** The collector answers with a number and a short message only. */
const maxReplyBytes = 64 * 1024;
/** A collector that returns is found within about this time. A collector that is gone costs one connection attempt in this time. */
const maxReconnectMs = 30_000;

export interface OtlpExporterOptions {
  readonly endpoint: string;
  readonly deadlineMs: number;
  readonly logger: Logger;
}

export class OtlpExporter implements SpanExporter {
  readonly #client: Client;
  readonly #deadlineMs: number;
  readonly #logger: Logger;
  /** The last batch was not accepted. A failure is logged once until a batch is accepted. */
  #isFailing = false;

  constructor({ endpoint, deadlineMs, logger }: OtlpExporterOptions) {
    this.#deadlineMs = deadlineMs;
    this.#logger = logger;
    this.#client = new Client(toTarget(endpoint), credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxReplyBytes,
      'grpc.max_reconnect_backoff_ms': maxReconnectMs,
      'grpc.use_local_subchannel_pool': 1,
      // The environment of a node may name a proxy for the API server. A collector is not behind that proxy.
      'grpc.enable_http_proxy': 0,
    });
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const request = Buffer.from(ProtobufTraceSerializer.serializeRequest(spans) ?? []);
    const deadline = Date.now() + this.#deadlineMs;
    const asIs = (bytes: Buffer) => bytes;
    this.#client.makeUnaryRequest(exportPath, asIs, asIs, request, new Metadata(), { deadline }, (err) => {
      this.#log(err, spans.length);
      done(err ? { code: ExportResultCode.FAILED, error: err } : { code: ExportResultCode.SUCCESS });
    });
  }

  async shutdown(): Promise<void> {
    this.#client.close();
  }

  #log(err: Error | null, spans: number): void {
    if (err && !this.#isFailing) this.#logger.warn({ err: err.message, spans }, 'Could not send spans to the collector, they are dropped');
    if (!err && this.#isFailing) this.#logger.info('Sent spans to the collector again');
    this.#isFailing = err !== null;
  }
}

const abstractSocket = /^unix-abstract:(?:\/\/[^/]*)?(.+)$/;

/** grpc-js lacks gRPC's scheme for abstract sockets. Their names begin with a zero byte. */
export function toTarget(endpoint: string): string {
  const name = abstractSocket.exec(endpoint)?.[1];
  return name === undefined ? endpoint : `unix:\0${name}`;
}
