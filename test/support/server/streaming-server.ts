/**
 * Serves the streaming handlers over a plain HTTP listener, with a fake runtime. The runtime's streaming server records its requests, and the
 * test controls its responses.
 */
import { createServer, ServerResponse, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after } from 'node:test';
import type { ContainerQuery, ResolvedContainer } from '../../../src/shared/contracts/server/calls.ts';
import type { CriClient } from '../../../src/shared/cri/client.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../src/shared/kubernetes/ids.ts';
import { createStreaming, type StreamRequest } from '../../../src/workers/server/streaming/index.ts';
import { aLogger } from '../logger.ts';

interface Options {
  readonly checkpointsDir?: string;
  readonly idleTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly translateWebSockets?: boolean;
  /** Result of a runtime call. Default: the URL of the stream. */
  readonly call?: (method: string, request: object) => Promise<object>;
  /** Called with the runtime's connection of an accepted stream. */
  readonly onStream?: (socket: Socket) => void;
  /** Handles the upgrade request instead of accepting it. */
  readonly onRequest?: (request: IncomingMessage, socket: Socket) => void;
  readonly url?: string;
}

const found: ResolvedContainer = {
  found: true,
  podUID: 'uid' as PodUID,
  sandboxID: 's' as SandboxID,
  containerID: 'c' as ContainerID,
  logPath: '',
  tty: true,
};

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export async function aStreamingServer(options: Options = {}) {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const runtime = createServer().on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    requests.push(request);
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    if (options.onRequest) return options.onRequest(request, socket);
    const protocol = request.headers.upgrade;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nX-Stream: v4\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    options.onStream?.(socket);
  });
  const url = options.url ?? `http://127.0.0.1:${await listen(runtime)}/exec/token?a=b`;

  const calls: { method: string; request: object }[] = [];
  const queries: ContainerQuery[] = [];
  const call = async (method: string, request: object) => {
    calls.push({ method, request });
    return (await options.call?.(method, request)) ?? { url };
  };
  const { logger } = aLogger();
  const streaming = createStreaming({
    resolveContainer: async (query) => {
      queries.push(query);
      return query.pod === 'web' ? found : { found: false, status: 404, message: 'pod does not exist' };
    },
    settings: {
      runtimeRequestTimeoutMs: options.requestTimeoutMs ?? 5_000,
      checkpointsDir: options.checkpointsDir ?? '/nowhere',
      streamingIdleTimeoutMs: options.idleTimeoutMs ?? 0,
      translateWebSockets: options.translateWebSockets ?? true,
    },
    cri: () => ({ runtime: { call } }) as unknown as Pick<CriClient, 'runtime'>,
    clock: { now: () => Date.UTC(2026, 0, 2) },
    logger,
  });

  let underWay = 0;
  const route = (request: IncomingMessage, response: ServerResponse, upgrade: StreamRequest['upgrade']) => {
    const { pathname, searchParams: query } = new URL(request.url!, 'http://server');
    const [, verb, namespace = '', pod = '', container = ''] = pathname.split('/');
    const target = { namespace, pod, container };
    const stream = { request, response, upgrade, query };
    if (verb === 'exec') return streaming.exec(stream, target);
    if (verb === 'attach') return streaming.attach(stream, target);
    if (verb === 'portForward') return streaming.portForward(stream, { namespace, pod });
    return verb === 'run' ? streaming.run(request, response, target, query) : streaming.checkpoint(request, response, target, query);
  };
  const track = async (serving: Promise<void>) => {
    underWay += 1;
    await serving;
    underWay -= 1;
  };
  const server = createServer((request, response) => void track(route(request, response, null)));
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    void track(route(request, response, { socket, head }));
  });
  const port = await listen(server);
  after(() => {
    streaming.close();
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
    runtime.close();
  });

  /** Sends an upgrade request over a raw connection and records the received data. */
  const open = (target: string, head: readonly string[] = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'], method = 'POST', body = '') => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const state = { text: '', bytes: 0, ended: false, closed: false };
    socket.on('data', (data: Buffer) => {
      state.bytes += data.length;
      if (state.text.length < 100_000) state.text += data.toString('latin1');
    });
    socket
      .on('end', () => (state.ended = true))
      .on('close', () => (state.closed = true))
      .on('error', () => {});
    socket.write([`${method} ${target} HTTP/1.1`, 'Host: node', ...head, '', body].join('\r\n'));
    return { socket, state };
  };
  return {
    open,
    calls,
    queries,
    requests,
    streaming,
    sockets,
    url: `http://127.0.0.1:${port}`,
    /** Number of unfinished requests. */
    underWay: () => underWay,
  };
}
