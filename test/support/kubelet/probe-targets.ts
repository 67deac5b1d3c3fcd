/** Servers on this host that probes reach, with results that the test sets. */
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import { createSecureServer as createHttp2Server, createServer as createUnencryptedHttp2Server } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { selfSignedCertificate } from '../../../src/workers/server/tls/self-signed.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

export interface ProbeRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Wall-clock ms. */
  readonly atMs: number;
}

/** Answers 200 for each path, or the status that the test sets. */
export class HttpTarget {
  readonly port: number;
  readonly requests: ProbeRequest[] = [];
  readonly statuses = new Map<string, number>();

  private constructor(server: Server) {
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(t: TestHooks): Promise<HttpTarget> {
    const server = createHttpServer((request, response) => {
      const path = request.url ?? '';
      target.requests.push({ path, headers: request.headers, atMs: Date.now() });
      response.writeHead(target.statuses.get(path) ?? 200).end(`status of ${path}`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    const target = new HttpTarget(server);
    return target;
  }

  get(path: string): { readonly httpGet: { readonly host: string; readonly port: number; readonly path: string } } {
    return { httpGet: { host: '127.0.0.1', port: this.port, path } };
  }
  countOf(path: string): number {
    return this.requests.filter((request) => request.path === path).length;
  }
}

/** Two servers with TLS and a certificate of another name: one that speaks HTTP/1.1 only, and one that speaks HTTP/2 only. */
export class HttpsTargets {
  /** The versions of HTTP of all requests, by path. */
  readonly versions = new Map<string, Set<string>>();
  readonly statuses = new Map<string, number>();
  readonly ports: { readonly http1: number; readonly http2: number };

  private constructor(http1: Server, http2: Server) {
    this.ports = { http1: (http1.address() as AddressInfo).port, http2: (http2.address() as AddressInfo).port };
  }

  static async start(t: TestHooks): Promise<HttpsTargets> {
    const certificate = selfSignedCertificate('elsewhere.example', Date.now());
    const answer = ({ url, httpVersion }: { url?: string; httpVersion: string }) => {
      const path = url ?? '';
      target.versions.set(path, new Set([...(target.versions.get(path) ?? []), httpVersion]));
      return target.statuses.get(path) ?? 200;
    };
    const http1 = createHttpsServer(certificate, (request, response) => void response.writeHead(answer(request)).end());
    const http2 = createHttp2Server(certificate, (request, response) => void response.writeHead(answer(request)).end());
    for (const server of [http1, http2]) {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      t.after(async () => void server.close());
    }
    const target = new HttpsTargets(http1, http2);
    return target;
  }
}

/** Speaks HTTP/2 without TLS, and nothing else, on all addresses: a probe with that protocol has no host. */
export class UnencryptedHttp2Target {
  readonly port: number;
  status = 200;

  private constructor(server: Server) {
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(t: TestHooks): Promise<UnencryptedHttp2Target> {
    const server = createUnencryptedHttp2Server((_, response) => void response.writeHead(target.status).end());
    await once(server.listen(0, '0.0.0.0'), 'listening');
    t.after(async () => void server.close());
    const target = new UnencryptedHttp2Target(server);
    return target;
  }
}

/** Accepts connections while it is open, and again on the same port. */
export class TcpTarget {
  #server: Server | null = null;
  port = 0;

  static async start(t: TestHooks): Promise<TcpTarget> {
    const target = new TcpTarget();
    await target.open();
    t.after(() => target.close());
    return target;
  }

  async open(): Promise<void> {
    this.#server = createTcpServer((socket) => socket.destroy());
    await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server) await new Promise((resolve) => server.close(resolve));
  }
}

/** grpc.health.v1.Health on all addresses: a gRPC probe reaches only the pod's own IP, which is the host's for a pod in its network. */
export class GrpcTarget {
  readonly port: number;
  /** 1: SERVING, 2: NOT_SERVING. */
  status = 1;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(t: TestHooks, { isTLS = false } = {}): Promise<GrpcTarget> {
    const server = new GrpcServer();
    const check = {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: (request: Buffer) => request,
      requestDeserialize: (request: Buffer) => request,
      responseSerialize: (status: number) => Buffer.from([0x08, status]),
      responseDeserialize: (response: Buffer) => response[1] ?? 0,
    } as const;
    server.addService(
      { Check: check },
      { Check: (_: unknown, respond: (err: null, status: number) => void) => respond(null, target.status) },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('0.0.0.0:0', isTLS ? tlsCredentials() : ServerCredentials.createInsecure(), (err, bound) =>
        err ? reject(err) : resolve(bound),
      );
    });
    t.after(async () => server.forceShutdown());
    const target = new GrpcTarget(port);
    return target;
  }
}

function tlsCredentials(): ServerCredentials {
  const { cert, key } = selfSignedCertificate('elsewhere.example', Date.now());
  return ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }]);
}
