/** A client of the kubelet's gRPC services, with the library that other programs use. Messages are bytes. */
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';

export interface Failure {
  readonly code: string;
  readonly message: string;
}

const bytes = (message: Buffer) => message;
const maxMessageBytes = 64 * 1024 * 1024;

export class GrpcClient {
  readonly #client: Client;

  constructor(socketPath: string) {
    this.#client = new Client(`unix://${socketPath}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.default_authority': 'localhost',
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 100,
    });
  }

  /** Resolves with the response, or with the failure. */
  call(path: string, request: Uint8Array = new Uint8Array(), timeoutMs = 20_000): Promise<Buffer | Failure> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(path, bytes, bytes, Buffer.from(request), { deadline: Date.now() + timeoutMs }, (err, response) =>
        resolve(err ? toFailure(err) : response!),
      );
    });
  }

  /** Rejects with the failure's text. */
  async ask(path: string, request?: Uint8Array): Promise<Buffer> {
    const answer = await this.call(path, request);
    if ('code' in answer) throw new Error(`${path}: ${answer.code} ${answer.message}`);
    return answer;
  }

  /** Collects the messages of a stream. `failure` resolves when the stream ends. */
  watch(
    path: string,
    timeoutMs?: number,
  ): { messages: Buffer[]; failure: Promise<Failure>; pause: () => void; resume: () => void; cancel: () => void } {
    const call = this.#client.makeServerStreamRequest(
      path,
      bytes,
      bytes,
      Buffer.alloc(0),
      timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
    );
    const messages: Buffer[] = [];
    call.on('data', (message: Buffer) => messages.push(message));
    const failure = new Promise<Failure>((resolve) => {
      call.on('error', (err) => resolve(toFailure(err as ServiceError)));
      call.on('end', () => resolve({ code: 'OK', message: '' }));
    });
    return { messages, failure, pause: () => call.pause(), resume: () => call.resume(), cancel: () => call.cancel() };
  }

  close(): void {
    this.#client.close();
  }
}

function toFailure({ code, details }: ServiceError): Failure {
  return { code: status[code] ?? String(code), message: details };
}
