/** Handles a request for a container log: resolves the container, reads its log and writes it to the client's connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import { sendText } from '../text-response.ts';
import { Followers, type Follower } from './followers.ts';
import type { ContainerLogs, ContainerLogsDependencies, ContainerLogsTarget } from './container-logs-interface.ts';
import { LogFilter } from './log-filter.ts';
import { parseLogOptions, type LogOptions } from './log-options.ts';
import { readLog } from './read-log.ts';
import { refuseReader } from './reader-limits.ts';

/** Time after which a client that reads nothing is disconnected: upstream's write timeout. */
const maxStallMs = 4 * 3600 * 1000;

/** Called once per thread. */
export function createContainerLogs(dependencies: ContainerLogsDependencies): ContainerLogs {
  return new ContainerLogsHandler(dependencies);
}

class ContainerLogsHandler implements ContainerLogs {
  readonly #deps: ContainerLogsDependencies;
  readonly #followers: Followers;
  /** The open requests: the controller aborts a request, and the value is the namespace of the pod. */
  readonly #openRequests = new Map<AbortController, string>();

  constructor(dependencies: ContainerLogsDependencies) {
    this.#deps = dependencies;
    this.#followers = new Followers({ containers: dependencies.snapshot, monotonicMs, logger: dependencies.logger });
  }

  async serve(_: IncomingMessage, response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams): Promise<void> {
    const { namespace } = target;
    const ofNamespace = this.#openRequests.values().reduce((count, openNamespace) => count + Number(openNamespace === namespace), 0);
    const refusal = refuseReader({ total: this.#openRequests.size, ofNamespace }, namespace);
    if (refusal !== null) return sendText(response, 429, refusal, { 'Retry-After': '1' });
    const disconnected = new AbortController();
    const onClose = () => disconnected.abort();
    response.once('close', onClose);
    // A listener is required; the `close` event follows.
    response.on('error', onClose);
    this.#openRequests.set(disconnected, namespace);
    try {
      await this.#serve(response, target, query, disconnected.signal);
    } catch (err) {
      this.#fail(response, target, err);
    } finally {
      this.#openRequests.delete(disconnected);
      response.off('close', onClose);
    }
  }

  close(): void {
    for (const reader of this.#openRequests.keys()) reader.abort();
  }

  async #serve(response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams, disconnected: AbortSignal): Promise<void> {
    const { resolveContainer, settings } = this.#deps;
    const { options, refusal } = parseLogOptions(query, Date.now(), settings.splitLogStreams);
    if (!options) return sendText(response, refusal.status, refusal.message);
    const resolved = await resolveContainer({ purpose: 'logs', ...target, previous: options.previous });
    if (!resolved.found) {
      // Precedence: unknown pod or container, then an invalid request, then a container without a log.
      const failure = refusal && resolved.status !== 404 ? refusal : resolved;
      return sendText(response, failure.status, failure.message);
    }
    if (refusal) return sendText(response, refusal.status, refusal.message);
    if (disconnected.aborted) return;
    await this.#send(response, target, options, { containerID: resolved.containerID as ContainerID, path: resolved.logPath }, disconnected);
  }

  async #send(
    response: ServerResponse,
    { namespace, pod, container }: ContainerLogsTarget,
    options: LogOptions,
    { containerID, path }: { readonly containerID: ContainerID; readonly path: string },
    disconnected: AbortSignal,
  ): Promise<void> {
    const { settings, logger } = this.#deps;
    const filter = new LogFilter(options);
    let follower: Follower | null = null;
    const onDisconnect = () => follower?.close();
    disconnected.addEventListener('abort', onDisconnect);
    try {
      await readLog({
        path,
        podLogsDir: settings.podLogsDir,
        tailLines: options.tailLines,
        filter,
        follow: options.follow
          ? (directory) => {
              follower = this.#followers.add(containerID, directory);
              if (disconnected.aborted) follower.close();
              return follower;
            }
          : null,
        onOpen: () => {
          // The headers are sent at once, also when the followed container writes nothing.
          if (options.follow) sendHead(response);
        },
        write: (bytes) => write(response, bytes, disconnected),
        sleep: (ms) => sleep(ms),
        signal: disconnected,
      });
      sendHead(response);
      response.end();
    } finally {
      disconnected.removeEventListener('abort', onDisconnect);
      if (filter.unparsableLines > 0) {
        logger.warn(
          { pod: `${namespace}/${pod}`, container, path, lines: filter.unparsableLines },
          'lines of a container log could not be read',
        );
      }
    }
  }

  /** Sends the error as the response, or appends it to a log that has been partly sent, as upstream does. */
  #fail(response: ServerResponse, { namespace, pod, container }: ContainerLogsTarget, err: unknown): void {
    if (response.destroyed) return;
    this.#deps.logger.warn({ pod: `${namespace}/${pod}`, container, err }, 'failed to serve a container log');
    if (response.headersSent) response.end(messageOf(err));
    else sendText(response, 400, messageOf(err));
  }
}

function sendHead(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.flushHeaders();
}

/** Resolves to true when more may be written, to false when the client is disconnected or has stalled. */
function write(response: ServerResponse, bytes: Buffer, disconnected: AbortSignal): Promise<boolean> {
  if (disconnected.aborted || response.destroyed) return Promise.resolve(false);
  sendHead(response);
  if (response.write(bytes)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const finish = (isWritable: boolean) => {
      clearTimeout(stallTimer);
      response.off('drain', onDrain);
      disconnected.removeEventListener('abort', onDisconnect);
      resolve(isWritable);
    };
    const onDrain = () => finish(true);
    const onDisconnect = () => finish(false);
    const stallTimer = setTimeout(() => response.destroy(), maxStallMs);
    response.on('drain', onDrain);
    disconnected.addEventListener('abort', onDisconnect);
  });
}
