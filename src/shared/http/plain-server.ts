/** An HTTP server without authentication. It limits the number of connections and the memory of responses that clients have not read. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ListenAddress } from '../contracts/server/settings.ts';
import { messageOf } from '../errors/kubelet-error.ts';
import type { Logger } from '../log/logger.ts';
import { ConnectionTable } from './connection-table.ts';
import { httpLimits, maxHeaders, refuseTooManyHeaders, stallTimeoutMs } from './http-limits.ts';
import { ListeningPort } from './listening-port.ts';
import { parsePlainRequest, type PlainRequest } from './plain-request.ts';
import { error, withConnectionClose, type Reply } from './reply.ts';
import { sendReply } from './send-reply.ts';

export interface PlainServerOptions {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
  readonly reply: (request: PlainRequest) => Promise<Reply>;
}

/** Enough for metrics scrapers and probes. */
const connectionLimits = { unauthorized: 256, unauthorizedPerAddress: 256, authorized: 0 };
/** Limit for response bodies that are not sent yet. A metrics page, or the pod list of a large node, has a few MB. */
const maxUnsentLength = 32 * 1024 * 1024;

export class PlainServer {
  readonly #options: PlainServerOptions;
  readonly #server: Server = createServer(httpLimits);
  readonly #connections: ConnectionTable;
  readonly #port: ListeningPort;
  #unsentLength = 0;

  constructor(options: PlainServerOptions) {
    this.#options = options;
    const { name, listen, logger } = options;
    this.#connections = new ConnectionTable({ server: name, limits: connectionLimits });
    this.#server.maxHeadersCount = maxHeaders;
    this.#server.setTimeout(stallTimeoutMs);
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket, false));
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#connections.find(request.socket)?.serve(request, response, () => this.#serve(request, response));
    });
    this.#port = new ListeningPort({ server: this.#server, name, listen, logger });
  }

  /** Returns the address that the server listens on, null while it can not listen. Waits for the first attempt. */
  address(): Promise<ListenAddress | null> {
    return this.#port.address();
  }

  /** Finishes the current requests and accepts no new ones. */
  async close(): Promise<void> {
    this.#port.close();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { name, logger } = this.#options;
    if (refuseTooManyHeaders(request, response)) return;
    this.#answer(request, response).catch((err: unknown) => {
      logger.error({ server: name, err, path: request.url?.slice(0, 200) }, 'failed to send the response');
      response.destroy();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { name, logger, reply } = this.#options;
    const answer = await reply(parsePlainRequest(request)).catch((err: unknown): Reply => {
      logger.error({ server: name, err, path: request.url?.slice(0, 200) }, 'request failed');
      return error(500, messageOf(err));
    });
    if (request.socket.destroyed) return;
    const length = answer.heldLength ?? answer.body.length;
    if (this.#unsentLength > 0 && this.#unsentLength + length > maxUnsentLength)
      return sendReply(request, response, withConnectionClose(error(503, 'too many clients have not taken their responses')));
    this.#unsentLength += length;
    response.once('close', () => (this.#unsentLength -= length));
    await sendReply(request, response, answer);
  }
}
