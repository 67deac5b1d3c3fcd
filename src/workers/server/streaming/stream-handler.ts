/** The handlers: which container, which call to the runtime, and then out of the way. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ContainerQuery, ResolvedContainer } from '../../../shared/contracts/server/calls.ts';
import { webSocketStreamingRequests } from '../../../shared/metrics/definitions/http.ts';
import { sendText } from '../text-response.ts';
import { checkpointContainer, checkpointLocation, parseCheckpointTimeout } from './checkpoint.ts';
import { hasRequestBody } from './forwarded-headers.ts';
import { toGoErrorText, toStreamErrorStatus } from './go-error.ts';
import type { ContainerTarget, PodTarget, Streaming, StreamingDependencies, StreamRequest } from './types.ts';
import { proxyUpgrade } from './proxy-upgrade.ts';
import { runInContainer } from './run-in-container.ts';
import { isUpgradeRequest, parsePortForwardPorts, parseRemoteCommandOptions, type RemoteCommandOptions } from './stream-options.ts';
import { createCommandTranslation } from './translate-command.ts';
import type { StreamTranslation } from './translation.ts';
import { createPortForwardTranslation } from './tunnel-ports.ts';
import { isCommandWebSocket, findHandshakeFault, parseTunnelledProtocols } from './websocket-request.ts';

/** Each holds two connections. Upstream's runtimes give out as many URLs at a time (cri-streaming's maxInFlight). */
const maxStreams = 1000;
/** What upstream's streaming server says when it has no more. */
const tooMany = 'rpc error: code = ResourceExhausted desc = maximum number of in-flight requests exceeded';
/** For how long a URL of a runtime is good (cri-streaming's cacheTTL). */
const retryAfter = { 'Retry-After': '60' };

/** As Go's http.Error. */
const noSniff = { 'X-Content-Type-Options': 'nosniff' };

type Found = Extract<ResolvedContainer, { found: true }>;
type Purpose = ContainerQuery['purpose'];

interface StreamKind {
  /** Asks the runtime for the URL of the stream. */
  readonly askUrl: (
    found: Found,
    limits: { readonly deadlineMs: number; readonly signal: AbortSignal },
  ) => Promise<{ readonly url: string }>;
  /** Null: the runtime speaks the client's protocol. */
  readonly translation: (found: Found) => StreamTranslation | null;
}

export class StreamHandler implements Streaming {
  readonly #deps: StreamingDependencies;
  readonly #open = new Set<AbortController>();

  constructor(dependencies: StreamingDependencies) {
    this.#deps = dependencies;
  }

  async exec(stream: StreamRequest, target: ContainerTarget): Promise<void> {
    const options = parseRemoteCommandOptions(stream.query);
    if (typeof options === 'string') return sendText(stream.response, 400, options);
    const cmd = stream.query.getAll('command');
    await this.#stream('exec', stream, target, {
      askUrl: ({ containerID }, limits) => this.#deps.cri().runtime.call('exec', { containerId: containerID, cmd, ...options }, limits),
      translation: () => this.#commandTranslation('exec', stream, options),
    });
  }

  async attach(stream: StreamRequest, target: ContainerTarget): Promise<void> {
    const options = parseRemoteCommandOptions(stream.query);
    if (typeof options === 'string') return sendText(stream.response, 400, options);
    // A process that runs has a terminal or has none, whatever the client would like.
    await this.#stream('attach', stream, target, {
      askUrl: ({ containerID, tty }, limits) =>
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
      askUrl: ({ sandboxID }, limits) => this.#deps.cri().runtime.call('portForward', { podSandboxId: sandboxID, port: ports }, limits),
      translation: () => (tunnelled.length > 0 ? createPortForwardTranslation(tunnelled) : null),
    });
  }

  async run(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void> {
    await this.#admit('run', request, response, target, async (found, signal) => {
      const output = await runInContainer(this.#deps.cri(), found.containerID, (query.get('cmd') ?? '').split(' '), signal);
      response.writeHead(200, output.length > 0 ? { 'Content-Type': 'application/json' } : {});
      response.end(output);
    });
  }

  async checkpoint(request: IncomingMessage, response: ServerResponse, target: ContainerTarget, query: URLSearchParams): Promise<void> {
    await this.#admit('checkpoint', request, response, target, async ({ containerID }, signal) => {
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
    for (const stream of this.#open) stream.abort(new Error('the server is closing'));
  }

  async #stream(
    purpose: Purpose,
    stream: StreamRequest,
    target: PodTarget & { readonly container?: string },
    { askUrl, translation: translate }: StreamKind,
  ): Promise<void> {
    const { request, response, upgrade } = stream;
    await this.#admit(purpose, request, response, target, async (found, signal) => {
      if (!upgrade || !isUpgradeRequest(request.headers)) return sendText(response, 500, 'Upgrade request required\n', noSniff);
      if (hasRequestBody(request.headers))
        return sendText(response, 400, 'a request for another protocol has no body', { Connection: 'close' });
      const translation = translate(found);
      const fault = translation && findHandshakeFault(request.method ?? '', request.headers);
      if (fault) return sendText(response, 400, `${fault}\n`, noSniff);
      const { runtimeRequestTimeoutMs, streamingIdleTimeoutMs } = this.#deps.settings;
      const stopListening = listenForEnd(upgrade.socket);
      const { url } = await askUrl(found, { deadlineMs: runtimeRequestTimeoutMs, signal });
      if (translation) webSocketStreamingRequests.inc({ subresource: translation.subresource });
      const options = { url, deadlineMs: runtimeRequestTimeoutMs, idleTimeoutMs: streamingIdleTimeoutMs, translation, signal };
      const endedBy = await proxyUpgrade(stream, upgrade, { ...options, onAnswer: stopListening });
      this.#deps.logger.debug({ purpose, pod: `${target.namespace}/${target.pod}`, container: target.container, endedBy }, 'stream ended');
    });
  }

  #commandTranslation(subresource: 'exec' | 'attach', { request }: StreamRequest, options: RemoteCommandOptions): StreamTranslation | null {
    const { translateWebSockets } = this.#deps.settings;
    return translateWebSockets && isCommandWebSocket(request.headers) ? createCommandTranslation(subresource, options) : null;
  }

  /** One of the bounded places, the container, and the errors of both. */
  async #admit(
    purpose: Purpose,
    request: IncomingMessage,
    response: ServerResponse,
    { namespace, pod, uid, container }: PodTarget & { readonly container?: string },
    act: (found: Found, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    if (this.#open.size >= maxStreams) return sendText(response, 429, tooMany, retryAfter);
    const gone = new AbortController();
    const { socket } = request;
    const onClose = () => gone.abort(new Error('the client is gone'));
    socket.once('close', onClose);
    this.#open.add(gone);
    try {
      const query = { purpose, namespace, pod, ...(uid && { podUID: uid }), ...(container !== undefined && { container }) };
      const found = await this.#deps.resolveContainer(query);
      if (found.found) await act(found, gone.signal);
      else sendText(response, found.status, found.message);
    } catch (err) {
      this.#fail({ purpose, pod: `${namespace}/${pod}`, container }, response, err, gone.signal);
    } finally {
      this.#open.delete(gone);
      socket.off('close', onClose);
    }
  }

  #fail(what: object, response: ServerResponse, err: unknown, gone: AbortSignal): void {
    if (gone.aborted) return void response.destroy();
    this.#deps.logger.warn({ ...what, err }, 'request to the runtime failed');
    const status = toStreamErrorStatus(err);
    sendText(response, status, toGoErrorText(err), status === 429 ? retryAfter : {});
  }
}

/**
 * Nobody reads an upgraded connection before it is joined to the runtime's: that its client has left would not be noticed. Reads into its
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
