/**
 * A proxy in front of a real API server that injects faults. A kubelet connects to the proxy through a separate kubeconfig.
 *
 *   const faulty = await FaultyApiServer.start(t, cluster, 'node-a');   // pass `flags` instead of the member's
 *   const stop = faulty.fault({ matches: (method, path) => method === 'PATCH' && path.endsWith('/status'), answer: { status: 429, retryAfterSeconds: 1 } });
 *   faulty.fault({ matches: isWatch, cutAfterBytes: 100, times: 1 });
 *   faulty.silence(isWatch);                                            // open watches stay open and receive nothing more
 *   faulty.acceptedToken = 'a'                                          // all other tokens get a 401
 *   faulty.requests                                                     // the received requests, oldest first
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request as requestOf, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlaneAccess } from '../../../lab/control-plane/control-plane-access.ts';
import { writeKubeconfig } from '../../../lab/control-plane/control-plane-kubeconfig.ts';
import type { TestCluster } from '../cluster/control-plane.ts';
import type { TestHooks } from '../runtime/simulated-runtime.ts';

/** `path` includes the query. */
export type Matches = (method: string, path: string) => boolean;

export interface Fault {
  readonly matches: Matches;
  /** The number of requests to affect. Default: all, until the fault is removed. */
  readonly times?: number;
  /** Delays the request before anything else. */
  readonly delayMs?: number;
  /** Responds with a Status of this code. The API server does not get the request. */
  readonly answer?: { readonly status: number; readonly reason?: string; readonly retryAfterSeconds?: number };
  /** Responds with this object and 200. The API server does not get the request. */
  readonly object?: object;
  /** Closes the connection without a response, as an unavailable host does. */
  readonly reset?: boolean;
  /** Never responds and keeps the connection open. */
  readonly hang?: boolean;
  /** The API server executes the request, and its response is truncated after this many bytes of the body. */
  readonly cutAfterBytes?: number;
}

export const isWatch: Matches = (method, path) => method === 'GET' && /[?&]watch=(1|true)/.test(path);

interface LiveAnswer {
  readonly method: string;
  readonly path: string;
  readonly from: IncomingMessage;
  readonly to: ServerResponse;
}

export class FaultyApiServer {
  readonly url: string;
  readonly kubeconfig: string;
  /** Flags for the kubelet. Pass them last, because the last flag of a name takes effect. */
  readonly flags: readonly string[];
  readonly requests: { readonly method: string; readonly path: string; readonly traceparent?: string }[] = [];
  /** When set, requests without this token get a 401. All forwarded requests have the node's credentials. */
  acceptedToken: string | null = null;
  readonly #upstream: string;
  readonly #agent: Agent;
  readonly #faults = new Map<Fault, number>();
  readonly #live = new Set<LiveAnswer>();
  readonly #hanging = new Set<ServerResponse>();

  private constructor(controlPlane: ControlPlaneAccess, server: Server, nodeName: string) {
    const credentials = controlPlane.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#upstream = controlPlane.url;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(controlPlane.caFile),
      cert: readFileSync(credentials.certFile),
      key: readFileSync(credentials.keyFile),
    });
    this.kubeconfig = join(controlPlane.folder, `faulty-${nodeName}.kubeconfig`);
    writeKubeconfig(this.kubeconfig, { url: this.url, caFile: controlPlane.caFile, user: `system:node:${nodeName}`, credentials });
    this.flags = ['--kubeconfig', this.kubeconfig];
  }

  /** Forwards all requests with the credentials of this node. */
  static async start(t: TestHooks, { controlPlane }: TestCluster, nodeName: string): Promise<FaultyApiServer> {
    const { certFile, keyFile } = controlPlane.authority.issue('faulty-api-server', {
      commonName: 'faulty-api-server',
      usages: ['serverAuth'],
      ips: ['127.0.0.1'],
    });
    const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const faulty = new FaultyApiServer(controlPlane, server, nodeName);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void faulty.#handle(request, response));
    t.after(async () => {
      server.close();
      server.closeAllConnections();
      faulty.#agent.destroy();
    });
    return faulty;
  }

  /** Returns the paths of matching requests whose response has started and not ended, such as watches. */
  underWay(matches: Matches): string[] {
    return [...this.#live].filter(({ method, path }) => matches(method, path)).map(({ path }) => path);
  }

  /** Injects a fault from the next request on. Among matching faults the first one applies. Returns a function that removes the fault. */
  fault(fault: Fault): () => void {
    this.#faults.set(fault, fault.times ?? Number.POSITIVE_INFINITY);
    return () => void this.#faults.delete(fault);
  }

  /** Drops the rest of matching responses in progress without closing them, like a router that has lost the connection's state. */
  silence(matches: Matches): void {
    for (const { method, path, from, to } of this.#live) {
      if (!matches(method, path)) continue;
      from.removeAllListeners('data');
      from.unpipe(to).resume();
    }
  }

  /** Truncates matching responses in progress. */
  cut(matches: Matches): void {
    for (const { method, path, to } of this.#live) if (matches(method, path)) to.destroy();
  }

  /** Closes the connections of requests affected by `hang`. */
  cutHanging(): void {
    for (const response of this.#hanging) response.destroy();
    this.#hanging.clear();
  }

  #faultOf(method: string, path: string): Fault | undefined {
    for (const [fault, left] of this.#faults) {
      if (!fault.matches(method, path)) continue;
      if (left <= 1) this.#faults.delete(fault);
      else this.#faults.set(fault, left - 1);
      return fault;
    }
    return undefined;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const { traceparent } = request.headers;
    this.requests.push({ method, path, ...(typeof traceparent === 'string' && { traceparent }) });
    const fault = this.#faultOf(method, path);
    if (fault?.delayMs !== undefined) await sleep(fault.delayMs);
    if (fault?.hang) return void this.#hanging.add(response);
    if (fault?.reset) return void request.socket.destroy();
    if (this.acceptedToken !== null && request.headers.authorization !== `Bearer ${this.acceptedToken}`) {
      return answerStatus(response, { status: 401, reason: 'Unauthorized' });
    }
    if (fault?.answer) answerStatus(response, fault.answer);
    else if (fault?.object) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(fault.object));
    else this.#forward(request, response, fault?.cutAfterBytes);
  }

  #forward(request: IncomingMessage, response: ServerResponse, cutAfterBytes: number | undefined): void {
    const { method = '', url: path = '' } = request;
    const { authorization: _, ...headers } = request.headers;
    const upstream = requestOf(`${this.#upstream}${path}`, { method, headers, agent: this.#agent }, (from) => {
      const live = { method, path, from, to: response };
      this.#live.add(live);
      response.on('close', () => {
        this.#live.delete(live);
        from.destroy();
      });
      response.writeHead(from.statusCode ?? 502, from.headers);
      // Sends the headers of a watch before its first event.
      response.flushHeaders();
      if (cutAfterBytes !== undefined) cutAfter(from, response, cutAfterBytes);
      else from.on('error', () => response.destroy()).pipe(response);
    });
    // A lost API server closes the client's connection.
    upstream.on('error', () => response.destroy());
    pipeline(request, upstream, () => {});
  }
}

function answerStatus(response: ServerResponse, { status, reason = '', retryAfterSeconds }: NonNullable<Fault['answer']>): void {
  const retryAfter = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  response.writeHead(status, { 'content-type': 'application/json', ...retryAfter });
  response.end(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, reason, message: 'a fault of this test' }),
  );
}

function cutAfter(from: IncomingMessage, to: ServerResponse, bytes: number): void {
  let left = bytes;
  from.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, left);
    left -= part.length;
    to.write(part, () => {
      if (left === 0) to.destroy();
    });
  });
  from.on('end', () => to.end());
}
