/**
 * A Unix socket for the commands `kubelet timeline`, `image-gc` and `eviction`. Only root can open the socket, because its folder has mode 0700. There
 * is no other authentication.
 */
import { createServer, type Server } from 'node:http';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { httpLimits, maxHeaders, refuseTooManyHeaders, stallTimeoutMs } from '../../shared/http/http-limits.ts';
import { parsePlainRequest, type PlainRequest } from '../../shared/http/plain-request.ts';
import { error, type Reply } from '../../shared/http/reply.ts';
import { sendReply } from '../../shared/http/send-reply.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { localSocketName } from '../../shared/local-socket/socket-path.ts';
import { bindUnixSocket } from './bind-unix-socket.ts';

/** Only root can connect, and each request takes milliseconds. */
const maxConnections = 32;

/** The reply to a request, by its path. */
export type LocalRoutes = Readonly<Record<string, (request: PlainRequest) => Reply | Promise<Reply>>>;

export class LocalSocket {
  readonly #server: Server = createServer(httpLimits);
  readonly #opened: Promise<void>;

  /** Opens the socket. A failure is logged: the commands then find no kubelet, and everything else works. */
  constructor(folder: string, routes: LocalRoutes, logger: Logger) {
    this.#server.maxConnections = maxConnections;
    this.#server.maxHeadersCount = maxHeaders;
    this.#server.setTimeout(stallTimeoutMs);
    this.#server.on('request', (request, response) => {
      if (refuseTooManyHeaders(request, response)) return;
      answer(routes, parsePlainRequest(request))
        .then((sent) => sendReply(request, response, sent))
        .catch((err: unknown) => {
          logger.warn({ err }, 'failed to answer on the local socket');
          response.destroy();
        });
    });
    this.#opened = this.#open(folder).catch((err: unknown) =>
      logger.warn({ err: messageOf(err), folder }, 'cannot open the socket of the commands `kubelet timeline`, `image-gc` and `eviction`'),
    );
  }

  /** Settles when the socket is open, or cannot be opened. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  async close(): Promise<void> {
    await this.#opened;
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #open(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await bindUnixSocket(this.#server, { path: join(folder, localSocketName), folderMode: 0o700, socketMode: 0o600 });
  }
}

async function answer(routes: LocalRoutes, request: PlainRequest): Promise<Reply> {
  try {
    const route = Object.hasOwn(routes, request.path) ? routes[request.path] : undefined;
    return route ? await route(request) : error(404, '404 page not found');
  } catch (err) {
    return error(500, messageOf(err));
  }
}
