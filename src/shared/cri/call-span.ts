/**
 * The span of one call to the runtime, with the attributes and events of Go's instrumentation (otelgrpc). The runtime gets its context, so that a runtime with
 * tracing continues the trace. Without tracing a call has no span.
 */
import { Metadata } from '@grpc/grpc-js';
import { startCallSpan, type Span } from '../tracing/index.ts';
import { codeName } from './cri-error.ts';

const scope = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';
/** A stream of events or of a long list has an event for each of its first messages only. */
const maxMessageEvents = 10;

export class CallSpan {
  readonly #span: Span | undefined;
  #code = 0;
  #received = 0;

  private constructor(span: Span | undefined) {
    this.#span = span;
  }

  /**
   * @param path `/runtime.v1.RuntimeService/RunPodSandbox`
   * @param socket the path of the runtime's socket
   */
  static start(path: string, socket: string): CallSpan {
    const name = path.slice(1);
    const span = startCallSpan(() => ({
      scope,
      name,
      attributes: { 'rpc.method': name, 'rpc.system.name': 'grpc', 'server.address': socket },
    }));
    return new CallSpan(span);
  }

  metadata(): Metadata {
    const metadata = new Metadata();
    if (this.#span) metadata.set('traceparent', this.#span.traceParent);
    return metadata;
  }

  /** Returns the message. */
  sent(message: Buffer): Buffer {
    this.#message('SENT', 1, message);
    return message;
  }

  /** Returns the message. */
  received(message: Buffer): Buffer {
    if (this.#span && this.#received < maxMessageEvents) this.#message('RECEIVED', (this.#received += 1), message);
    return message;
  }

  failed(code: number, message: string): void {
    this.#code = code;
    this.#span?.fail(message);
  }

  end(): void {
    this.#span?.setAttributes({ 'rpc.response.status_code': codeName(this.#code) });
    this.#span?.end();
  }

  #message(type: 'SENT' | 'RECEIVED', id: number, { length }: Buffer): void {
    this.#span?.addEvent('message', {
      'rpc.message.type': type,
      'rpc.message.id': id,
      'rpc.message.compressed_size': length,
      'rpc.message.uncompressed_size': length,
    });
  }
}
