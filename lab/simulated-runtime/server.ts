/** The gRPC server on a unix socket. Binds the handlers to the generated services. Can be closed and opened again at run time. */
import { rmSync } from 'node:fs';
import {
  Server,
  ServerCredentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ImageServiceDefinition, RuntimeServiceDefinition, type MessageFns } from '../../src/shared/cri/generated/cri-v1.ts';
import { runCall, type CallEnvironment, type Handler } from './call.ts';
import { imageCalls } from './calls/image-calls.ts';
import { containerCalls } from './calls/container-calls.ts';
import { nodeCalls, type ExecResults } from './calls/node-calls.ts';
import { sandboxCalls } from './calls/sandbox-calls.ts';
import { statsCalls } from './calls/stats-calls.ts';
import { EncodedList } from './encoded-list.ts';
import type { RpcError } from './rpc-error.ts';

/** containerd's max_recv_message_size and max_send_message_size, and the kubelet's limit. */
const maxMessageBytes = 16 * 1024 * 1024;
/** Padding that makes any list too large. */
const oversizeBytes = maxMessageBytes;

type AnyMessage = MessageFns<object>;
type AnyHandler = Handler<object, unknown>;
interface AnyMethod {
  readonly name: string;
  readonly requestType: unknown;
  readonly responseType: unknown;
  readonly responseStream: boolean;
}
interface AnyService {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, AnyMethod>>;
}

export class RuntimeServer {
  readonly #socket: string;
  readonly #environment: CallEnvironment;
  readonly #services: readonly { readonly service: AnyService; readonly handlers: Readonly<Record<string, unknown>> }[];
  #server: Server | undefined;

  constructor(socket: string, environment: CallEnvironment, execResults: ExecResults) {
    const { runtime } = environment;
    this.#socket = socket;
    this.#environment = environment;
    const runtimeHandlers = {
      ...sandboxCalls(runtime),
      ...containerCalls(runtime),
      ...nodeCalls(runtime, execResults),
      ...statsCalls(runtime),
    };
    this.#services = [
      { service: RuntimeServiceDefinition, handlers: runtimeHandlers },
      { service: ImageServiceDefinition, handlers: imageCalls(runtime) },
    ];
  }

  /** Starts to listen. Rejects when the path can not be bound. */
  async open(): Promise<void> {
    if (this.#server) return;
    const server = new Server({
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc-node.flow_control_window': maxMessageBytes,
    });
    for (const { service, handlers } of this.#services) this.#add(server, service, handlers);
    rmSync(this.#socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.#socket}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()));
    });
    this.#server = server;
  }

  /** Closes every connection immediately, like a killed runtime. The state is kept for the next `open`. */
  close(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
    rmSync(this.#socket, { force: true });
  }

  #add(server: Server, service: AnyService, handlers: Readonly<Record<string, unknown>>): void {
    const definition: Record<string, ServiceDefinition[string]> = {};
    const implementation: UntypedServiceImplementation = {};
    for (const [key, method] of Object.entries(service.methods)) {
      const handler = handlers[key] as AnyHandler | undefined;
      if (!handler) continue;
      definition[key] = grpcMethod(service.fullName, method);
      implementation[key] = method.responseStream ? this.#stream(method.name, handler) : this.#unary(method.name, handler);
    }
    server.addService(definition, implementation);
  }

  #unary(name: string, handler: AnyHandler): handleUnaryCall<object, unknown> {
    const answer = async (...[call, callback]: Parameters<handleUnaryCall<object, unknown>>) => {
      const abort = new AbortController();
      call.on('cancelled', () => abort.abort());
      try {
        const { reply, oversize } = await runCall(name, call.request, abort.signal, handler, this.#environment);
        const isWhole = !('filter' in call.request) || call.request.filter === undefined;
        callback(null, oversize && isWhole && reply instanceof EncodedList ? reply.withPadding(oversizeBytes) : reply);
      } catch (err) {
        callback(toServiceError(err));
      }
    };
    return (call, callback) => void answer(call, callback);
  }

  #stream(name: string, handler: AnyHandler): handleServerStreamingCall<object, unknown> {
    return (call) => {
      const abort = new AbortController();
      call.on('cancelled', () => abort.abort());
      const send = async () => {
        const { reply } = await runCall(name, call.request, abort.signal, handler, this.#environment);
        for await (const message of reply as AsyncIterable<unknown>) {
          if (abort.signal.aborted) break;
          call.write(message);
        }
        call.end();
      };
      send().catch((err: unknown) => call.emit('error', toServiceError(err)));
    };
  }
}

function toServiceError(err: unknown): { code: number; details: string } {
  const { code, message } = err as RpcError;
  return { code, details: message };
}

/** Replies that are already encoded lists are only joined. */
function grpcMethod(service: string, method: AnyMethod): ServiceDefinition[string] {
  const requestType = method.requestType as AnyMessage;
  const responseType = method.responseType as AnyMessage;
  return {
    path: `/${service}/${method.name}`,
    originalName: method.name,
    requestStream: false,
    responseStream: method.responseStream,
    requestSerialize: (message: object) => Buffer.from(requestType.encode(message).finish()),
    requestDeserialize: (bytes: Buffer) => requestType.decode(bytes),
    responseSerialize: (message: object) =>
      message instanceof EncodedList ? message.join() : Buffer.from(responseType.encode(responseType.fromPartial(message)).finish()),
    responseDeserialize: (bytes: Buffer) => responseType.decode(bytes),
  };
}
