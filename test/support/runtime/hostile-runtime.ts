/**
 * A CRI proxy between a kubelet and a real or simulated runtime: it forwards every call, and lets a test replace replies. Clients cannot
 * distinguish it from the runtime except by the replaced replies.
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
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../../../src/shared/cri/generated/cri-v1.ts';
import type { TestHooks } from './simulated-runtime.ts';

interface Message {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}
interface Method {
  readonly name: string;
  readonly requestType: Message;
  readonly responseType: Message;
  readonly responseStream: boolean;
}

export interface Reply {
  /** For example `ContainerStatus`. */
  readonly call: string;
  readonly request: object;
  readonly reply: object;
  readonly bytes: Buffer;
  /** Encodes a changed reply. Throws when a value does not fit its field. */
  readonly encode: (reply: object) => Buffer;
}

/** Returns the bytes to reply with. Called for each reply, and for each message of a stream. */
export type ReplaceReply = (reply: Reply) => Buffer;

/** Returns the error of a call that does not reach the runtime, or null. Called for each call without a stream. */
export type Refuse = (call: string, request: object) => { readonly code: number; readonly details: string } | null;

const maxMessageBytes = 16 * 1024 * 1024;
const limits = { 'grpc.max_receive_message_length': maxMessageBytes, 'grpc.max_send_message_length': maxMessageBytes };

/** Starts the proxy on a separate socket. It stops when the test ends. */
export async function startHostileRuntime(
  t: TestHooks,
  endpoint: string,
  replace: ReplaceReply,
  refuse: Refuse = () => null,
): Promise<{ readonly endpoint: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  const client = new Client(endpoint, credentials.createInsecure(), { ...limits, 'grpc.default_authority': 'localhost' });
  const server = new Server(limits);
  for (const { fullName, methods } of [RuntimeServiceDefinition, ImageServiceDefinition]) {
    addService(server, client, fullName, methods, { replace, refuse });
  }
  const proxyEndpoint = `unix://${join(folder, 'cri.sock')}`;
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(proxyEndpoint.replace('unix://', 'unix:'), ServerCredentials.createInsecure(), (err) =>
      err ? reject(err) : resolve(),
    );
  });
  t.after(async () => {
    server.forceShutdown();
    client.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { endpoint: proxyEndpoint };
}

const identity = (bytes: Buffer): Buffer => bytes;

function addService(
  server: Server,
  client: Client,
  service: string,
  methods: Readonly<Record<string, Method>>,
  { replace, refuse }: { readonly replace: ReplaceReply; readonly refuse: Refuse },
): void {
  const definition: Record<string, ServiceDefinition[string]> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [key, method] of Object.entries(methods)) {
    const path = `/${service}/${method.name}`;
    const toReply = (request: Buffer, bytes: Buffer): Buffer =>
      replace({
        call: method.name,
        request: method.requestType.decode(request),
        reply: method.responseType.decode(bytes),
        bytes,
        encode: (reply) => Buffer.from(method.responseType.encode(reply).finish()),
      });
    definition[key] = {
      path,
      originalName: method.name,
      requestStream: false,
      responseStream: method.responseStream,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    };
    implementation[key] = method.responseStream
      ? streamOf(client, path, toReply)
      : unaryOf(client, path, toReply, (request) => refuse(method.name, method.requestType.decode(request)));
  }
  server.addService(definition, implementation);
}

function unaryOf(
  client: Client,
  path: string,
  toReply: (request: Buffer, bytes: Buffer) => Buffer,
  refuse: (request: Buffer) => ReturnType<Refuse>,
) {
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
    const refusal = refuse(call.request);
    if (refusal) return callback(refusal);
    const forwarded = client.makeUnaryRequest(path, identity, identity, call.request, new Metadata(), (err, bytes) => {
      if (err || !bytes) callback(err);
      else callback(null, toReply(call.request, bytes));
    });
    call.on('cancelled', () => forwarded.cancel());
  };
}

function streamOf(client: Client, path: string, toReply: (request: Buffer, bytes: Buffer) => Buffer) {
  return (call: ServerWritableStream<Buffer, Buffer>): void => {
    const forwarded = client.makeServerStreamRequest(path, identity, identity, call.request);
    forwarded.on('data', (bytes: Buffer) => call.write(toReply(call.request, bytes)));
    forwarded.on('end', () => call.end());
    forwarded.on('error', (err) => call.emit('error', err));
    call.on('cancelled', () => forwarded.cancel());
  };
}
