/**
 * The CRI v1 client: one gRPC connection to the runtime's socket, with calls typed by the generated service definitions. Every
 * call has a deadline and can be cancelled. A failed call rejects with CriError, which names the call and the gRPC code.
 */
import { Client, credentials, type CallOptions, type ServiceError } from '@grpc/grpc-js';
import { largeGarbage } from '../heap/large-garbage.ts';
import { CriError, grpcCode } from './cri-error.ts';
import { maxMessageBytes } from './message-limit.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from './generated/cri-v1.ts';
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { CallSpan } from './call-span.ts';

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
/** A request in which omitted fields have proto3's zero values. */
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
  /** The limit of the whole stream. Absent for a stream without a limit. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** Called at the end of every call. `errorCode` is absent on success. */
export type CallObserver = (method: string, durationMs: number, errorCode: number | undefined) => void;

export interface CriClientOptions {
  /** `unix:///run/containerd/containerd.sock` */
  readonly endpoint: string;
  readonly onCall?: CallObserver;
  /** The largest reply. Default: the limit of CRI messages. */
  readonly maxReplyBytes?: number;
}

class ServiceClient<D extends Definition> {
  readonly #definition: D;
  readonly #client: Client;
  /** The path of the runtime's socket, for traces. */
  readonly #socket: string;
  readonly #onCall: CallObserver | undefined;

  constructor(definition: D, client: Client, socket: string, onCall: CallObserver | undefined) {
    this.#definition = definition;
    this.#client = client;
    this.#socket = socket;
    this.#onCall = onCall;
  }

  /** Makes a unary call. Rejects with CriError. */
  call<K extends UnaryNames<D>>(
    method: K,
    request: Partially<RequestOf<Methods<D>[K]>>,
    limits: CallLimits,
  ): Promise<ResponseOf<Methods<D>[K]>> {
    const { responseType } = this.#method(method);
    return this.#unary(method, request, limits, (bytes) => responseType.decode(bytes)) as Promise<ResponseOf<Methods<D>[K]>>;
  }

  /** Like `call`, but resolves with the bytes of the reply. List replies are scanned and not decoded. */
  callRaw<K extends UnaryNames<D>>(method: K, request: Partially<RequestOf<Methods<D>[K]>>, limits: CallLimits): Promise<Buffer> {
    return this.#unary(method, request, limits, (bytes) => bytes);
  }

  /** Opens a server stream. The generator ends with the stream or when the signal aborts, and throws CriError when the stream breaks. */
  stream<K extends StreamNames<D>>(
    method: K,
    request: Partially<RequestOf<Methods<D>[K]>>,
    limits: StreamLimits,
  ): AsyncGenerator<ResponseOf<Methods<D>[K]>> {
    const { responseType } = this.#method(method);
    return this.#stream(method, request, limits, (bytes) => responseType.decode(bytes)) as AsyncGenerator<ResponseOf<Methods<D>[K]>>;
  }

  /** Like `stream`, but yields each message as bytes. */
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
    const span = CallSpan.start(path, this.#socket);
    let errorCode: number | undefined;
    const call = this.#client.makeServerStreamRequest(
      path,
      (message: never) => serialize(requestType, message),
      deserialize,
      request as never,
      span.metadata(),
      options,
    );
    const cancel = () => call.cancel();
    limits.signal?.addEventListener('abort', cancel);
    // After a cancellation the call's status arrives as an 'error' event when the iteration is over. Without a listener, that event
    // would end the thread.
    call.on('error', () => {});
    try {
      for await (const message of call) yield message as T;
    } catch (err) {
      if (limits.signal?.aborted) return;
      const failure = toCriError(name, err);
      errorCode = failure.code;
      span.failed(failure.code, failure.message);
      throw failure;
    } finally {
      limits.signal?.removeEventListener('abort', cancel);
      call.cancel();
      span.end();
      this.#onCall?.(name, performance.now() - started, errorCode);
    }
  }

  #unary<T>(method: keyof Methods<D>, request: unknown, limits: CallLimits, deserialize: (bytes: Buffer) => T): Promise<T> {
    const { name, path, requestType } = this.#method(method);
    const started = performance.now();
    return new Promise<T>((resolve, reject) => {
      if (limits.signal?.aborted) return reject(limits.signal.reason as Error);
      const span = CallSpan.start(path, this.#socket);
      const call = this.#client.makeUnaryRequest(
        path,
        (message: never) => serialize(requestType, message),
        (bytes: Buffer) => {
          // Estimated: the reply's bytes, and the message that is decoded from them.
          largeGarbage.add(2 * bytes.length);
          return deserialize(bytes);
        },
        request as never,
        span.metadata(),
        { deadline: toDeadline(limits.deadlineMs) },
        (err, response) => {
          limits.signal?.removeEventListener('abort', cancel);
          if (err) span.failed(err.code, err.details);
          span.end();
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
  const { buffer, byteOffset, byteLength } = type.encode(type.fromPartial(message)).finish();
  // Estimated: the message and its copies during the encoding.
  largeGarbage.add(4 * byteLength);
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The gRPC timeout header holds eight digits. For a later deadline grpc-js throws outside of the caller's reach. */
const maxDeadlineMs = 365 * 24 * 3600 * 1000;

function toDeadline(deadlineMs: number): number {
  return Date.now() + Math.min(deadlineMs, maxDeadlineMs);
}

function toCriError(call: string, err: unknown): CriError {
  const { code = grpcCode.UNKNOWN, details } = err as Partial<ServiceError>;
  // grpc-js appends an empty name resolution note to connection errors.
  return new CriError(call, code, (details ?? String(err)).replace(/ Resolution note: $/, ''));
}

export class CriClient {
  readonly runtime: ServiceClient<typeof RuntimeServiceDefinition>;
  readonly images: ServiceClient<typeof ImageServiceDefinition>;
  readonly #client: Client;

  constructor({ endpoint, onCall, maxReplyBytes = maxMessageBytes }: CriClientOptions) {
    this.#client = new Client(endpoint.startsWith('/') ? `unix://${endpoint}` : endpoint, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxReplyBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      // grpc-js starts with 64 KiB windows. A list of 1,000 containers would need 23 round trips.
      'grpc-node.flow_control_window': maxMessageBytes,
      // The client must find a restarted runtime promptly, not after gRPC's two-minute back-off.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3000,
      // The path of a unix socket is not a valid :authority header. containerd's Go server rejects it.
      'grpc.default_authority': 'localhost',
      // Each thread has its own connection, so the lists of one thread never delay another thread's calls.
      'grpc.use_local_subchannel_pool': 1,
    });
    const socket = endpoint.replace(/^unix:(\/\/)?/, '');
    this.runtime = new ServiceClient(RuntimeServiceDefinition, this.#client, socket, onCall);
    this.images = new ServiceClient(ImageServiceDefinition, this.#client, socket, onCall);
  }

  /** Starts to connect before the first call. */
  connect(): void {
    this.#client.getChannel().getConnectivityState(true);
  }

  close(): void {
    this.#client.close();
  }
}
