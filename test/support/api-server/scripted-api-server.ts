/** An HTTPS server with scripted responses, for failures that a real API server rarely shows. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { CertificateAuthority } from '../../../lab/control-plane/control-plane-certificates.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly protocol: string;
  /** The common name of the client's certificate. */
  readonly client: string | undefined;
}

export type RequestHandler = (request: ReceivedRequest, response: Http2ServerResponse) => void;

export class ScriptedApiServer {
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly requests: ReceivedRequest[] = [];
  readonly sessions = new Set<ServerHttp2Session>();
  /** The number of accepted connections. */
  connections = 0;
  handle: RequestHandler = (_request, response) => void response.writeHead(404).end();
  readonly #sockets = new Set<TLSSocket>();
  #server!: Http2SecureServer;

  private constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'kubelet-api-'));
    this.authority = new CertificateAuthority(this.folder);
  }

  static async start(options: { readonly maxStreams?: number } = {}): Promise<ScriptedApiServer> {
    const server = new ScriptedApiServer();
    const files = server.authority.issue('server', {
      commonName: 'kube-apiserver',
      usages: ['serverAuth'],
      dnsNames: ['kubernetes'],
      ips: ['127.0.0.1'],
    });
    server.#server = createSecureServer({
      cert: readFileSync(files.certFile),
      key: readFileSync(files.keyFile),
      ca: readFileSync(server.authority.certFile),
      requestCert: true,
      rejectUnauthorized: false,
      allowHTTP1: true,
      ...(options.maxStreams === undefined ? {} : { settings: { maxConcurrentStreams: options.maxStreams } }),
    });
    server.#server.on('request', (request, response) => void server.#take(request, response));
    server.#server.on('session', (session) => {
      server.sessions.add(session);
      session.on('close', () => server.sessions.delete(session)).on('error', () => {});
    });
    server.#server.on('secureConnection', (socket) => {
      server.connections += 1;
      server.#sockets.add(socket);
      socket.on('close', () => server.#sockets.delete(socket)).on('error', () => {});
    });
    server.#server.on('sessionError', () => {});
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }
  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Destroys all connections without a GOAWAY or a response. */
  destroyConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.destroyConnections();
    await closed;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #take(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    response.on('error', () => {});
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
    const received = {
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      protocol: request.httpVersion,
      client: socket.getPeerCertificate?.()?.subject?.CN as string | undefined,
    };
    this.requests.push(received);
    this.handle(received, response);
  }
}

export function sendJSON(response: Http2ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
