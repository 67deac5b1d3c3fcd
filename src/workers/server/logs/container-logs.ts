/** The handler: from a request for a log to the bytes on the client's connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { monotonicMs } from '../../../shared/time/clock.ts';
import { sendText } from '../text-response.ts';
import { Followers, type Follower } from './followers.ts';
import type { ContainerLogs, ContainerLogsDependencies, ContainerLogsTarget } from './types.ts';
import { LogFilter } from './log-filter.ts';
import { decodeLogOptions, type LogOptions } from './log-options.ts';
import { readLog } from './read-log.ts';

/** Each holds a descriptor, and one block while its client takes it. */
const maxReaders = 1000;
/** Of a client that takes nothing any more: upstream's server lets no answer last longer. */
const maxStallMs = 4 * 3600 * 1000;

export class ContainerLogsHandler implements ContainerLogs {
  readonly #deps: ContainerLogsDependencies;
  readonly #followers: Followers;
  readonly #open = new Set<AbortController>();

  constructor(dependencies: ContainerLogsDependencies) {
    this.#deps = dependencies;
    this.#followers = new Followers({ containers: dependencies.snapshot, monotonicMs, logger: dependencies.logger });
  }

  async serve(_: IncomingMessage, response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams): Promise<void> {
    if (this.#open.size >= maxReaders) {
      return sendText(response, 429, `${maxReaders} logs are being read already`, { 'Retry-After': '1' });
    }
    const gone = new AbortController();
    const onClose = () => gone.abort();
    response.once('close', onClose);
    // A connection that breaks while it is written to is told by `close` as well.
    response.on('error', onClose);
    this.#open.add(gone);
    try {
      await this.#serve(response, target, query, gone.signal);
    } catch (err) {
      this.#fail(response, target, err);
    } finally {
      this.#open.delete(gone);
      response.off('close', onClose);
    }
  }

  close(): void {
    for (const reader of this.#open) reader.abort();
  }

  async #serve(response: ServerResponse, target: ContainerLogsTarget, query: URLSearchParams, gone: AbortSignal): Promise<void> {
    const { resolveContainer, settings } = this.#deps;
    const { options, refusal } = decodeLogOptions(query, Date.now(), settings.splitLogStreams);
    if (!options) return sendText(response, refusal.status, refusal.message);
    const answer = await resolveContainer({ purpose: 'logs', ...target, previous: options.previous });
    if (!answer.found) {
      // That the pod or its container is unknown comes first, then what is wrong with the request, then that there is no log yet.
      const said = refusal && answer.status !== 404 ? refusal : answer;
      return sendText(response, said.status, said.message);
    }
    if (refusal) return sendText(response, refusal.status, refusal.message);
    if (gone.aborted) return;
    await this.#send(response, target, options, { containerID: answer.containerID as ContainerID, path: answer.logPath }, gone);
  }

  async #send(
    response: ServerResponse,
    { namespace, pod, container }: ContainerLogsTarget,
    options: LogOptions,
    { containerID, path }: { readonly containerID: ContainerID; readonly path: string },
    gone: AbortSignal,
  ): Promise<void> {
    const { settings, logger } = this.#deps;
    const filter = new LogFilter(options);
    let follower: Follower | null = null;
    const onGone = () => follower?.close();
    gone.addEventListener('abort', onGone);
    try {
      await readLog({
        path,
        podLogsDir: settings.podLogsDir,
        tailLines: options.tailLines,
        filter,
        follow: options.follow
          ? (directory) => {
              follower = this.#followers.add(containerID, directory);
              if (gone.aborted) follower.close();
              return follower;
            }
          : null,
        onOpen: () => {
          // A client that follows a silent container learns at once that it does.
          if (options.follow) begin(response);
        },
        write: (bytes) => write(response, bytes, gone),
        sleep: (ms) => sleep(ms),
      });
      begin(response);
      response.end();
    } finally {
      gone.removeEventListener('abort', onGone);
      if (filter.unparsableLines > 0) {
        logger.warn(
          { pod: `${namespace}/${pod}`, container, path, lines: filter.unparsableLines },
          'lines of a container log could not be read',
        );
      }
    }
  }

  /** Before the first byte it is the answer; later it is the last that is read of the log, as upstream. */
  #fail(response: ServerResponse, { namespace, pod, container }: ContainerLogsTarget, err: unknown): void {
    if (response.destroyed) return;
    this.#deps.logger.warn({ pod: `${namespace}/${pod}`, container, err }, 'a container log could not be shown');
    if (response.headersSent) response.end(messageOf(err));
    else sendText(response, 400, messageOf(err));
  }
}

function begin(response: ServerResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.flushHeaders();
}

/** Resolves when the client has taken it as far as more may come; false when the client is gone, or takes nothing any more. */
function write(response: ServerResponse, bytes: Buffer, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted || response.destroyed) return Promise.resolve(false);
  begin(response);
  if (response.write(bytes)) return Promise.resolve(true);
  return new Promise((resolve) => {
    const finish = (taken: boolean) => {
      clearTimeout(stalled);
      response.off('drain', onDrain);
      gone.removeEventListener('abort', onGone);
      resolve(taken);
    };
    const onDrain = () => finish(true);
    const onGone = () => finish(false);
    const stalled = setTimeout(() => response.destroy(), maxStallMs);
    response.on('drain', onDrain);
    gone.addEventListener('abort', onGone);
  });
}
