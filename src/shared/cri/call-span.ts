/**
 * The span of one call to the runtime, with the attributes of Go's instrumentation (otelgrpc v0.68, which records no message
 * events). The call's metadata has the span's context, so that a runtime with tracing continues the trace. Without tracing a call has no span.
 */
import { Metadata } from '@grpc/grpc-js';
import { startCallSpan, type Span } from '../tracing/index.ts';
import { codeName } from './cri-error.ts';

const scope = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';

export class CallSpan {
  readonly #span: Span | undefined;
  #code = 0;

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

  failed(code: number, message: string): void {
    this.#code = code;
    this.#span?.fail(message);
  }

  end(): void {
    this.#span?.setAttributes({ 'rpc.response.status_code': codeName(this.#code) });
    this.#span?.end();
  }
}
