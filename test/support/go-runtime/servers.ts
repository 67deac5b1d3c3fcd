/** The servers of a contract host: an API server that takes Nodes, a server of manifests, and a proxy. Each ends with the test. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, isIP, type AddressInfo, type Socket } from 'node:net';
import type { Node } from '../../../src/main/node/index.ts';
import * as der from '../../../src/shared/x509/der.ts';
import { extension, type Issued, type TestAuthority } from '../api-server/certificates.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

/** Returns the port. */
async function listen(t: TestHooks, server: Server, host: string): Promise<number> {
  await once(server.listen(0, host), 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server's certificate for one DNS name, one IPv4 address, or the 16 bytes of an IPv6 address. */
export function certificateFor(authority: TestAuthority, name: string | Buffer): Issued {
  const address = typeof name === 'string' && isIP(name) ? Buffer.from(name.split('.').map(Number)) : name;
  const value = typeof address === 'string' ? der.implicit(2, Buffer.from(address)) : der.implicit(7, address);
  const names = extension('2.5.29.17', der.sequence(value));
  return authority.issue({ commonName: 'server', usages: ['server'], extensions: [names] });
}

export function serveHTTP(t: TestHooks, host: string, answer: RequestListener): Promise<number> {
  return listen(t, createServer(answer), host);
}

export function serveHTTPS(t: TestHooks, host: string, { cert, key }: Issued, answer: RequestListener): Promise<number> {
  return listen(t, createSecureServer({ cert, key }, answer), host);
}

const noContent = '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}';

/** Takes the Node that a kubelet creates, and shows it to its watches. It has nothing else. */
export class NodeRegistry {
  /** Undefined: no kubelet has created its Node. */
  node: Node | undefined;
  /** The credentials of the request that created it. */
  authorization: string | undefined;
  readonly #watches: ServerResponse[] = [];

  /** Of the Node, of the type InternalIP. */
  internalIPs(): string {
    const addresses = this.node?.status?.addresses ?? [];
    return addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : [])).join(' ');
  }

  readonly answer: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'https://server');
      response.setHeader('content-type', 'application/json');
      if (pathname !== '/api/v1/nodes' || searchParams.has('sendInitialEvents')) response.writeHead(404).end(noContent);
      else if (request.method === 'POST') {
        this.authorization = request.headers.authorization;
        this.#create(Buffer.concat(chunks).toString(), response);
      } else if (searchParams.has('watch')) this.#watch(response);
      else
        response.end(
          JSON.stringify({ kind: 'NodeList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: this.node ? [this.node] : [] }),
        );
    });
  };

  #create(body: string, response: ServerResponse): void {
    const created = JSON.parse(body) as Node;
    this.node = { ...created, metadata: { ...created.metadata, uid: 'created', resourceVersion: '2' } };
    response.writeHead(201).end(JSON.stringify(this.node));
    for (const watch of this.#watches) this.#show(watch);
  }

  #watch(response: ServerResponse): void {
    this.#watches.push(response);
    response.flushHeaders();
    if (this.node) this.#show(response);
  }

  #show(watch: ServerResponse): void {
    watch.write(`${JSON.stringify({ type: 'ADDED', object: { kind: 'Node', apiVersion: 'v1', ...this.node } })}\n`);
  }
}

/** A proxy that opens tunnels to where its clients ask for, answers other requests itself, and records both. */
export class RecordingProxy {
  readonly requests: string[] = [];
  #port = 0;

  static async start(t: TestHooks, host: string, body: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy();
    const server = createServer((request, response) => {
      proxy.requests.push(`${request.method} ${request.url}`);
      response.end(body);
    });
    server.on('connect', (request, near: Socket) => {
      proxy.requests.push(`CONNECT ${request.url}`);
      const [name = '', port] = (request.url ?? '').split(/:(?=\d+$)/);
      const far = connect(Number(port), name.replaceAll(/[[\]]/g, ''), () => {
        near.write('HTTP/1.1 200 Connection established\r\n\r\n');
        near.pipe(far).pipe(near);
      });
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    });
    proxy.#port = await listen(t, server, host);
    return proxy;
  }

  get port(): number {
    return this.#port;
  }
}
