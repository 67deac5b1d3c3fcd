/**
 * A real API server that answers badly where a test says so: a proxy before it, which a kubelet's kubeconfig leads to.
 *
 *   const faulty = await FaultyApiServer.start(t, cluster, 'node-a');   // its `flags` in place of the member's
 *   const stop = faulty.fault({ matches: (method, path) => method === 'PATCH' && path.endsWith('/status'), answer: { status: 429, retryAfterSeconds: 1 } });
 *   faulty.fault({ matches: isWatch, cutAfterBytes: 100, times: 1 });
 *   faulty.silence(isWatch);                                            // watches that run now stay open and say nothing more
 *   faulty.acceptedToken = 'a'                                          // all others are refused with 401
 *   faulty.requests                                                     // what was asked for, oldest first
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request as requestOf, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlaneAccess } from '../../scripts/host/control-plane-access.ts';
import { writeKubeconfig } from '../../scripts/host/control-plane-kubeconfig.ts';
import type { TestCluster } from './control-plane.ts';
import type { Afterwards } from './simulated-runtime.ts';

/** `path` with its query, as asked. */
export type Matches = (method: string, path: string) => boolean;

export interface Fault {
  readonly matches: Matches;
  /** So many requests; without it, all until it is taken back. */
  readonly times?: number;
  /** Before anything else happens. */
  readonly delayMs?: number;
  /** A Status of this code in place of the API server's answer, which is not asked. */
  readonly answer?: { readonly status: number; readonly reason?: string; readonly retryAfterSeconds?: number };
  /** The connection is closed without an answer, as by a host that is not there. */
  readonly reset?: boolean;
  /** No answer ever; the connection stays open. */
  readonly hang?: boolean;
  /** The API server does as asked, and its answer is cut after so many bytes of its body. */
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
  /** For the kubelet, after all others: the last of a name counts. */
  readonly flags: readonly string[];
  readonly requests: { readonly method: string; readonly path: string }[] = [];
  /** When set, whoever does not show it is refused with 401. To the API server behind, everybody is the node. */
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

  /** Whoever calls it is that node to the API server. */
  static async start(t: Afterwards, { controlPlane }: TestCluster, nodeName: string): Promise<FaultyApiServer> {
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

  /** The paths of those whose answers have begun and not ended: the watches that there are. */
  underWay(matches: Matches): string[] {
    return [...this.#live].filter(({ method, path }) => matches(method, path)).map(({ path }) => path);
  }

  /** From the next request on; of two that match, the one that was told first. Answers with what takes it back. */
  fault(fault: Fault): () => void {
    this.#faults.set(fault, fault.times ?? Number.POSITIVE_INFINITY);
    return () => void this.#faults.delete(fault);
  }

  /** No more of the answers that are under way arrives, and nobody is told: as behind a router that forgot the connection. */
  silence(matches: Matches): void {
    for (const { method, path, from, to } of this.#live) {
      if (!matches(method, path)) continue;
      from.removeAllListeners('data');
      from.unpipe(to).resume();
    }
  }

  /** The answers that are under way end in the middle. */
  cut(matches: Matches): void {
    for (const { method, path, to } of this.#live) if (matches(method, path)) to.destroy();
  }

  /** Those that wait for an answer that never comes lose their connection. */
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
    this.requests.push({ method, path });
    const fault = this.#faultOf(method, path);
    if (fault?.delayMs !== undefined) await sleep(fault.delayMs);
    if (fault?.hang) return void this.#hanging.add(response);
    if (fault?.reset) return void request.socket.destroy();
    if (this.acceptedToken !== null && request.headers.authorization !== `Bearer ${this.acceptedToken}`) {
      return answerStatus(response, { status: 401, reason: 'Unauthorized' });
    }
    if (fault?.answer) answerStatus(response, fault.answer);
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
      // A watch is heard of before its first event.
      response.flushHeaders();
      if (cutAfterBytes !== undefined) cutAfter(from, response, cutAfterBytes);
      else from.on('error', () => response.destroy()).pipe(response);
    });
    // The API server is gone: so is the connection.
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
