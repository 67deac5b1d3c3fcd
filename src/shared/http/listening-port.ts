/** The port of a server: it is tried again until it is free, since a predecessor may still hold it. */
import type { AddressInfo, Server } from 'node:net';
import type { ListenAddress } from '../contracts/server/settings.ts';
import type { Logger } from '../log/logger.ts';

export interface ListeningPortOptions {
  readonly server: Server;
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
}

/** Upstream tries the healthz port again after 5 s; a port that a dying predecessor still holds is free sooner. */
const retryDelaysMs = [100, 500, 1000, 5000];

/**
 * As Go, which asks for the kernel's limit (somaxconn, 4096 by default). A client that finds the queue full tries again after a second.
 */
const backlog = 4096;

export class ListeningPort {
  readonly #options: ListeningPortOptions;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ListeningPortOptions) {
    this.#options = options;
    options.server.on('listening', () => this.#listens());
    options.server.on('error', (err) => this.#failed(err));
    this.#listen();
  }

  /** Where the server listens; null while it could not. Waits for the first try. */
  async address(): Promise<ListenAddress | null> {
    const { server } = this.#options;
    if (!server.listening && this.#failures === 0) await new Promise((resolve) => server.once('listening', resolve).once('error', resolve));
    const address = server.address() as AddressInfo | null;
    return address && { address: address.address, port: address.port };
  }

  /** Gives up a port that is not there yet. */
  close(): void {
    clearTimeout(this.#retry);
  }

  #listen(): void {
    const { server, listen } = this.#options;
    server.listen({ host: listen.address, port: listen.port, backlog });
  }

  #listens(): void {
    this.#failures = 0;
    const { server, name, logger } = this.#options;
    const { address, port } = server.address() as AddressInfo;
    logger.info({ server: name, address, port }, 'server listens');
  }

  #failed(err: Error): void {
    const retryInMs = retryDelaysMs[Math.min(this.#failures, retryDelaysMs.length - 1)]!;
    this.#failures += 1;
    const { name, listen, logger } = this.#options;
    logger.error(
      { server: name, address: listen.address, port: listen.port, err, retryInMs },
      'server can not listen; it will be tried again',
    );
    this.#retry = setTimeout(() => this.#listen(), retryInMs);
  }
}
