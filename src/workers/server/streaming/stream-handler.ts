/** The handlers of streaming requests: resolve the container, call the runtime, then proxy the connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ContainerQuery, ResolvedContainer } from '../../../shared/contracts/server/calls.ts';
import { webSocketStreamingRequests } from '../../../shared/metrics/definitions/http.ts';
import { sendText } from '../text-response.ts';
import { checkpointContainer, checkpointLocation, parseCheckpointTimeout } from './checkpoint.ts';
import { hasRequestBody } from './forwarded-headers.ts';
import { toGoErrorText, toStreamErrorStatus } from './go-error.ts';
import type { ContainerTarget, PodTarget, Streaming, StreamingDependencies, StreamRequest } from './streaming-interface.ts';
import { proxyUpgrade } from './proxy-upgrade.ts';
import { runInContainer } from './run-in-container.ts';
import { isUpgradeRequest, parsePortForwardPorts, parseRemoteCommandOptions, type RemoteCommandOptions } from './stream-options.ts';
import { createCommandTranslation } from './translate-command.ts';
import type { StreamTranslation } from './translation.ts';
import { createPortForwardTranslation } from './translate-port-forward.ts';
import { isCommandWebSocket, findHandshakeFault, parseTunnelledProtocols } from './websocket-request.ts';

/** Each stream has two connections. The value is cri-streaming's maxInFlight, the number of URLs that a runtime keeps. */
const maxStreams = 1000;
/** The error of upstream's streaming server. */
const tooManyStreams = 'rpc error: code = ResourceExhausted desc = maximum number of in-flight requests exceeded';
/** The lifetime of a runtime's streaming URL (cri-streaming's cacheTTL). */
const retryAfter = { 'Retry-After': '60' };

/** A header of Go's http.Error. */
const noSniff = { 'X-Content-Type-Options': 'nosniff' };

type FoundContainer = Extract<ResolvedContainer, { found: true }>;
type Purpose = ContainerQuery['purpose'];

interface StreamKind {
  /** Requests the URL of the stream from the runtime. */
  readonly requestUrl: (
    resolved: FoundContainer,
    limits: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ) => Promise<{ readonly url: string }>;
  /** Null when the runtime supports the client's protocol. */
  readonly translation: (resolved: FoundContainer) => StreamTranslation | null;
}

/** Called once per thread. */
export function createStreaming(dependencies: StreamingDependencies): Streaming {
  return new StreamHandler(dependencies);
}

class StreamHandler implements Streaming {
  readonly #deps: StreamingDependencies;
  /** One for each request in progress. */
  readonly #openRequests = new Set<AbortController>();

  constructor(dependencies: StreamingDependencies) {
    this.#deps = dependencies;
  }

  async exec(stream: StreamRequest, target: ContainerTarget): Promise<void> {
    const options = parseRemoteCommandOptions(stream.query);
    if (typeof options === 'string') return sendText(stream.response, 400, options);
    const cmd = stream.query.getAll('command');
    await this.#stream('exec', stream, target, {
      requestUrl: ({ containerID }, limits) => this.#deps.cri().runtime.call('exec', { containerId: containerID, cmd, ...options }, limits),
      translation: () => this.#commandTranslation('exec', stream, options),
    });
  }

  async attach(stream: StreamRequest, target: ContainerTarget): Promise<void> {
    const options = parseRemoteCommandOptions(stream.query);
    if (typeof options === 'string') return sendText(stream.response, 400, options);
    // Whether the running process has a terminal is given by its container, not by the request.
    await this.#stream('attach', stream, target, {
      requestUrl: ({ containerID, tty }, limits) =>
        this.#deps.cri().runtime.call('attach', { containerId: containerID, ...options, tty }, limits),
      translation: ({ tty }) => this.#commandTranslation('attach', stream, { ...options, tty }),
    });
  }

  async portForward(stream: StreamRequest, target: PodTarget): Promise<void> {
    const { headers } = stream.request;
    const tunnelled = this.#deps.settings.translateWebSockets ? parseTunnelledProtocols(headers) : [];
    const ports = tunnelled.length > 0 ? [] : parsePortForwardPorts(headers, stream.query);
    if (typeof ports === 'string') return sendText(stream.response, 400, ports);
    await this.#stream('portForward', stream, target, {
      requestUrl: ({ sandboxID }, limits) => this.#deps.cri().runtime.call('portForward', { podSandboxId: sandboxID, port: ports }, limits),
      translation: () => (tunnelled.length > 0 ? createPortForwardTranslation(tunnelled) : null),
    });
  }

  async run(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void> {
    await this.#handle('run', request, response, target, async (resolved, signal) => {
      const output = await runInContainer(this.#deps.cri(), resolved.containerID, (query.get('cmd') ?? '').split(' '), signal);
      response.writeHead(200, output.length > 0 ? { 'Content-Type': 'application/json' } : {});
      response.end(output);
    });
  }

  async checkpoint(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void> {
    await this.#handle('checkpoint', request, response, target, async ({ containerID }, signal) => {
      const { settings, clock, cri, logger } = this.#deps;
      const { namespace, pod, container } = target;
      const timeoutSeconds = parseCheckpointTimeout(query);
      if (timeoutSeconds === null) return sendText(response, 404, 'cannot parse value of timeout parameter');
      const location = checkpointLocation(settings.checkpointsDir, target, clock.now());
      try {
        await checkpointContainer({ ...settings, cri: cri(), containerID, location, timeoutSeconds, signal });
      } catch (err) {
        logger.warn({ pod: `${namespace}/${pod}`, container, location, err }, 'checkpoint failed');
        return sendText(response, 500, `checkpointing of ${namespace}/${pod}/${container} failed (${toGoErrorText(err)})`);
      }
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ items: [location] }));
    });
  }

  close(): void {
    for (const request of this.#openRequests) request.abort(new Error('the server is closing'));
  }

  async #stream(
    purpose: Purpose,
    stream: StreamRequest,
    target: PodTarget & { readonly container?: string },
    { requestUrl, translation: translate }: StreamKind,
  ): Promise<void> {
    const { request, response, upgrade } = stream;
    await this.#handle(purpose, request, response, target, async (resolved, signal) => {
      if (!upgrade || !isUpgradeRequest(request.headers)) return sendText(response, 500, 'Upgrade request required\n', noSniff);
      if (hasRequestBody(request.headers))
        return sendText(response, 400, 'a request for another protocol has no body', { Connection: 'close' });
      const translation = translate(resolved);
      const fault = translation && findHandshakeFault(request.method ?? '', request.headers);
      if (fault) return sendText(response, 400, `${fault}\n`, noSniff);
      const { runtimeRequestTimeoutMs, streamingIdleTimeoutMs } = this.#deps.settings;
      const stopListening = listenForEnd(upgrade.socket);
      const { url } = await requestUrl(resolved, { deadlineMs: runtimeRequestTimeoutMs, signal });
      if (translation) webSocketStreamingRequests.inc({ subresource: translation.subresource });
      const options = { url, deadlineMs: runtimeRequestTimeoutMs, idleTimeoutMs: streamingIdleTimeoutMs, translation, signal };
      const endedBy = await proxyUpgrade(stream, upgrade, { ...options, onUpgraded: stopListening });
      this.#deps.logger.debug({ purpose, pod: `${target.namespace}/${target.pod}`, container: target.container, endedBy }, 'stream ended');
    });
  }

  #commandTranslation(subresource: 'exec' | 'attach', { request }: StreamRequest, options: RemoteCommandOptions): StreamTranslation | null {
    const { translateWebSockets } = this.#deps.settings;
    return translateWebSockets && isCommandWebSocket(request.headers) ? createCommandTranslation(subresource, options) : null;
  }

  /** Limits the number of streams, resolves the container, and answers errors. */
  async #handle(
    purpose: Purpose,
    request: IncomingMessage,
    response: ServerResponse,
    { namespace, pod, uid, container }: PodTarget & { readonly container?: string },
    act: (resolved: FoundContainer, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    if (this.#openRequests.size >= maxStreams) return sendText(response, 429, tooManyStreams, retryAfter);
    const disconnected = new AbortController();
    const { socket } = request;
    const onClose = () => disconnected.abort(new Error('the client is disconnected'));
    socket.once('close', onClose);
    this.#openRequests.add(disconnected);
    try {
      const query = { purpose, namespace, pod, ...(uid && { podUID: uid }), ...(container !== undefined && { container }) };
      const resolved = await this.#deps.resolveContainer(query);
      if (resolved.found) await act(resolved, disconnected.signal);
      else sendText(response, resolved.status, resolved.message);
    } catch (err) {
      this.#fail({ purpose, pod: `${namespace}/${pod}`, container }, response, err, disconnected.signal);
    } finally {
      this.#openRequests.delete(disconnected);
      socket.off('close', onClose);
    }
  }

  #fail(fields: object, response: ServerResponse, err: unknown, disconnected: AbortSignal): void {
    if (disconnected.aborted) return void response.destroy();
    this.#deps.logger.warn({ ...fields, err }, 'request to the runtime failed');
    const status = toStreamErrorStatus(err);
    sendText(response, status, toGoErrorText(err), status === 429 ? retryAfter : {});
  }
}

/**
 * Detects that the client of an upgraded connection disconnects before the connection is joined to the runtime's. Reads into the socket's
 * bounded buffer until the returned function is called.
 */
function listenForEnd(socket: Duplex): () => void {
  const onReadable = () => {};
  const onEnd = () => socket.destroy();
  socket.on('readable', onReadable);
  socket.once('end', onEnd);
  return () => {
    socket.off('readable', onReadable);
    socket.off('end', onEnd);
  };
}
