/**
 * Stands between a kubelet and its runtime and writes down when each call began and ended: what a kubelet took beyond its runtime is
 * then known without asking either. Passes bytes through undecoded; costs a call some 0.3 ms, which count as the runtime's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../../src/shared/cri/generated/cri-v1.ts';
import { monotonicMs } from '../../src/shared/time/clock.ts';
import type { BenchContext } from '../harness/benchmark.ts';

export interface RecordedCall {
  readonly call: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Before that runtime, until the benchmark is over. */
export async function startProxy({ after }: BenchContext, runtimeEndpoint: string): Promise<RecordingProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'kp-'));
  const proxy = await RecordingProxy.start(join(folder, 'p.sock'), runtimeEndpoint);
  after(async () => {
    proxy.close();
    rmSync(folder, { recursive: true });
  });
  return proxy;
}

const messageLimits = {
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024,
  'grpc-node.flow_control_window': 16 * 1024 * 1024,
};
const asItIs = (bytes: Buffer) => bytes;

export class RecordingProxy {
  readonly endpoint: string;
  readonly #server: Server;
  readonly #client: Client;
  readonly #socket: string;
  #calls: RecordedCall[] = [];

  private constructor(socket: string, server: Server, client: Client) {
    this.endpoint = `unix://${socket}`;
    this.#socket = socket;
    this.#server = server;
    this.#client = client;
  }

  /** Listens on `socket`, and asks `runtimeEndpoint`. */
  static async start(socket: string, runtimeEndpoint: string): Promise<RecordingProxy> {
    const client = new Client(runtimeEndpoint, credentials.createInsecure(), { ...messageLimits, 'grpc.default_authority': 'localhost' });
    const proxy = new RecordingProxy(socket, new Server(messageLimits), client);
    proxy.#addServices();
    rmSync(socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      proxy.#server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()));
    });
    return proxy;
  }

  /** Those since the last time. */
  takeCalls(): readonly RecordedCall[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  close(): void {
    this.#server.forceShutdown();
    this.#client.close();
    rmSync(this.#socket, { force: true });
  }

  #addServices(): void {
    for (const service of [RuntimeServiceDefinition, ImageServiceDefinition]) {
      const definition: Record<string, ServiceDefinition[string]> = {};
      const implementation: UntypedServiceImplementation = {};
      for (const [key, { name, responseStream }] of Object.entries(service.methods)) {
        const path = `/${service.fullName}/${name}`;
        const bytes = { requestSerialize: asItIs, requestDeserialize: asItIs, responseSerialize: asItIs, responseDeserialize: asItIs };
        definition[key] = { path, originalName: name, requestStream: false, responseStream, ...bytes };
        implementation[key] = responseStream ? this.#stream(path) : this.#unary(name, path);
      }
      this.#server.addService(definition, implementation);
    }
  }

  #unary(name: string, path: string): UntypedServiceImplementation[string] {
    return ((
      call: { request: Buffer; on: (event: 'cancelled', listener: () => void) => void },
      callback: (err: ServiceError | null, reply?: Buffer) => void,
    ) => {
      const startMs = monotonicMs();
      const asked = this.#client.makeUnaryRequest(path, asItIs, asItIs, call.request, new Metadata(), (err, reply) => {
        this.#calls.push({ call: name, startMs, endMs: monotonicMs() });
        callback(err, reply);
      });
      call.on('cancelled', () => asked.cancel());
    }) as UntypedServiceImplementation[string];
  }

  #stream(path: string): UntypedServiceImplementation[string] {
    return ((call: NodeJS.WritableStream & { request: Buffer }) => {
      const asked = this.#client.makeServerStreamRequest(path, asItIs, asItIs, call.request);
      asked.on('data', (message: Buffer) => call.write(message as unknown as string));
      asked.on('end', () => call.end());
      asked.on('error', (err) => call.emit('error', err));
      call.on('cancelled', () => asked.cancel());
    }) as UntypedServiceImplementation[string];
  }
}
