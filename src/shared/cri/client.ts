/**
 * The CRI v1 client: one gRPC connection to the runtime's socket, typed calls made from the generated service definitions.
 * Every call has a deadline and may be cancelled; a failure is a CriError that names the call and carries the gRPC code.
 */
import { Client, credentials, Metadata, type CallOptions, type ServiceError } from '@grpc/grpc-js';
import { CriError, grpcCode } from './cri-error.ts';
import { maxMessageBytes } from './message-limit.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from './generated/cri-v1.ts';
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';

interface Message<T> {
  encode(message: T, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): T;
  fromPartial(object: never): T;
}
type Definition = typeof RuntimeServiceDefinition | typeof ImageServiceDefinition;
type Methods<D extends Definition> = D['methods'];
type UnaryNames<D extends Definition> = {
  [K in keyof Methods<D>]: Methods<D>[K] extends { responseStream: false } ? K : never;
}[keyof Methods<D>];
type StreamNames<D extends Definition> = Exclude<keyof Methods<D>, UnaryNames<D>>;
type RequestOf<M> = M extends { requestType: Message<infer R> } ? R : never;
type ResponseOf<M> = M extends { responseType: Message<infer R> } ? R : never;
/** What a caller must give of a request: fields left out have proto3's zero values. */
export type Partially<T> = T extends bigint | Uint8Array
  ? T
  : T extends readonly (infer U)[]
    ? readonly Partially<U>[]
    : T extends object
      ? { readonly [K in keyof T]?: Partially<T[K]> | undefined }
      : T;

export interface CallLimits {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

export interface StreamLimits {
  /** For the whole stream; absent: as long as it lasts. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** Told of every call that ended; `errorCode` is absent for a success. */
export type CallObserver = (method: string, durationMs: number, errorCode: number | undefined) => void;

export interface CriClientOptions {
  /** `unix:///run/containerd/containerd.sock` */
  readonly endpoint: string;
  readonly onCall?: CallObserver;
}

class ServiceClient<D extends Definition> {
  readonly #definition: D;
  readonly #client: Client;
  readonly #onCall: CallObserver | undefined;

  constructor(definition: D, client: Client, onCall: CallObserver | undefined) {
    this.#definition = definition;
    this.#client = client;
    this.#onCall = onCall;
  }

  /** A unary call. Rejects with CriError. */
  call<K extends UnaryNames<D>>(
    method: K,
    request: Partially<RequestOf<Methods<D>[K]>>,
    limits: CallLimits,
  ): Promise<ResponseOf<Methods<D>[K]>> {
    const { responseType } = this.#method(method);
    return this.#unary(method, request, limits, (bytes) => responseType.decode(bytes)) as Promise<ResponseOf<Methods<D>[K]>>;
  }

  /** The same, with the reply as bytes: for lists, which are scanned and not decoded. */
  callRaw<K extends UnaryNames<D>>(method: K, request: Partially<RequestOf<Methods<D>[K]>>, limits: CallLimits): Promise<Buffer> {
    return this.#unary(method, request, limits, (bytes) => bytes);
  }

  /** A server stream. Ends with the stream or the signal; throws CriError when it breaks. */
  stream<K extends StreamNames<D>>(
    method: K,
    request: Partially<RequestOf<Methods<D>[K]>>,
    limits: StreamLimits,
  ): AsyncGenerator<ResponseOf<Methods<D>[K]>> {
    const { responseType } = this.#method(method);
    return this.#stream(method, request, limits, (bytes) => responseType.decode(bytes)) as AsyncGenerator<ResponseOf<Methods<D>[K]>>;
  }

  /** The same, with each message as bytes. */
  streamRaw<K extends StreamNames<D>>(
    method: K,
    request: Partially<RequestOf<Methods<D>[K]>>,
    limits: StreamLimits,
  ): AsyncGenerator<Buffer> {
    return this.#stream(method, request, limits, (bytes) => bytes);
  }

  async *#stream<T>(
    method: keyof Methods<D>,
    request: unknown,
    limits: StreamLimits,
    deserialize: (bytes: Buffer) => T,
  ): AsyncGenerator<T> {
    if (limits.signal?.aborted) return;
    const { name, path, requestType } = this.#method(method);
    const options: CallOptions = limits.deadlineMs === undefined ? {} : { deadline: toDeadline(limits.deadlineMs) };
    const started = performance.now();
    let errorCode: number | undefined;
    const call = this.#client.makeServerStreamRequest(
      path,
      (message: never) => serialize(requestType, message),
      deserialize,
      request as never,
      new Metadata(),
      options,
    );
    const cancel = () => call.cancel();
    limits.signal?.addEventListener('abort', cancel);
    // The status of a call that is cancelled below comes when nobody iterates any more: without a listener it would end the thread.
    call.on('error', () => {});
    try {
      for await (const message of call) yield message as T;
    } catch (err) {
      if (limits.signal?.aborted) return;
      const failure = toCriError(name, err);
      errorCode = failure.code;
      throw failure;
    } finally {
      limits.signal?.removeEventListener('abort', cancel);
      call.cancel();
      this.#onCall?.(name, performance.now() - started, errorCode);
    }
  }

  #unary<T>(method: keyof Methods<D>, request: unknown, limits: CallLimits, deserialize: (bytes: Buffer) => T): Promise<T> {
    const { name, path, requestType } = this.#method(method);
    const started = performance.now();
    return new Promise<T>((resolve, reject) => {
      if (limits.signal?.aborted) return reject(limits.signal.reason as Error);
      const call = this.#client.makeUnaryRequest(
        path,
        (message: never) => serialize(requestType, message),
        deserialize,
        request as never,
        new Metadata(),
        { deadline: toDeadline(limits.deadlineMs) },
        (err, response) => {
          limits.signal?.removeEventListener('abort', cancel);
          this.#onCall?.(name, performance.now() - started, err?.code);
          if (err) reject(toCriError(name, err));
          else resolve(response as T);
        },
      );
      const cancel = () => call.cancel();
      limits.signal?.addEventListener('abort', cancel);
    });
  }

  #method(method: keyof Methods<D>): { name: string; path: string; requestType: Message<unknown>; responseType: Message<unknown> } {
    const { name, requestType, responseType } = (
      this.#definition.methods as Record<PropertyKey, { name: string; requestType: Message<unknown>; responseType: Message<unknown> }>
    )[method as PropertyKey]!;
    return { name, path: `/${this.#definition.fullName}/${name}`, requestType, responseType };
  }
}

function serialize(type: Message<unknown>, message: never): Buffer {
  return Buffer.from(type.encode(type.fromPartial(message)).finish());
}

/** A deadline has eight digits in gRPC's header; grpc-js throws, where nobody catches it, at one that is farther off. */
const maxDeadlineMs = 365 * 24 * 3600 * 1000;

function toDeadline(deadlineMs: number): number {
  return Date.now() + Math.min(deadlineMs, maxDeadlineMs);
}

function toCriError(call: string, err: unknown): CriError {
  const { code = grpcCode.UNKNOWN, details } = err as Partial<ServiceError>;
  // grpc-js ends what it says of a connection with an empty note on name resolution.
  return new CriError(call, code, (details ?? String(err)).replace(/ Resolution note: $/, ''));
}

export class CriClient {
  readonly runtime: ServiceClient<typeof RuntimeServiceDefinition>;
  readonly images: ServiceClient<typeof ImageServiceDefinition>;
  readonly #client: Client;

  constructor({ endpoint, onCall }: CriClientOptions) {
    this.#client = new Client(endpoint.startsWith('/') ? `unix://${endpoint}` : endpoint, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      // grpc-js starts with 64 KiB windows: a list of 1,000 containers would need 23 round trips
      'grpc-node.flow_control_window': maxMessageBytes,
      // A runtime that comes back must be found at once, not after grpc's two-minute back-off.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3000,
      // A unix socket's path makes no good :authority header; containerd's Go server refuses it.
      'grpc.default_authority': 'localhost',
      // Two threads, two connections: one thread's lists never queue behind another's.
      'grpc.use_local_subchannel_pool': 1,
    });
    this.runtime = new ServiceClient(RuntimeServiceDefinition, this.#client, onCall);
    this.images = new ServiceClient(ImageServiceDefinition, this.#client, onCall);
  }

  /** Begins to connect, before the first call does. */
  connect(): void {
    this.#client.getChannel().getConnectivityState(true);
  }

  close(): void {
    this.#client.close();
  }
}
