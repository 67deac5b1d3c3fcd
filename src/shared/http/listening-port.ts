/** Listens on a server's port. Retries while the port is taken, because the previous kubelet process may still have it open. */
import type { AddressInfo, Server } from 'node:net';
import type { ListenAddress } from '../contracts/server/settings.ts';
import type { Logger } from '../log/logger.ts';

export interface ListeningPortOptions {
  readonly server: Server;
  readonly name: string;
  readonly listen: ListenAddress;
  readonly logger: Logger;
}

/** Upstream retries the healthz port after 5 s. A port that an exiting process has open is free sooner. */
const retryDelaysMs = [100, 500, 1000, 5000];

/**
 * Go uses the operating system's limit (somaxconn, 4096 by default). A client's SYN is retransmitted after a second when the queue is full.
 */
const backlog = 4096;

export class ListeningPort {
  readonly #options: ListeningPortOptions;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: ListeningPortOptions) {
    this.#options = options;
    options.server.on('listening', () => this.#onListening());
    options.server.on('error', (err) => this.#onError(err));
    this.#listen();
  }

  /** Returns the address that the server listens on, null while it can not listen. Waits for the first attempt. */
  async address(): Promise<ListenAddress | null> {
    const { server } = this.#options;
    if (!server.listening && this.#failures === 0) await new Promise((resolve) => server.once('listening', resolve).once('error', resolve));
    const address = server.address() as AddressInfo | null;
    return address && { address: address.address, port: address.port };
  }

  /** Stops retrying. */
  close(): void {
    clearTimeout(this.#retry);
  }

  #listen(): void {
    const { server, listen } = this.#options;
    // As in Go, 0.0.0.0 means every address of both families. Without a host Node does so too, and listens by IPv4 only where IPv6 is missing.
    server.listen({ ...(listen.address !== '0.0.0.0' && { host: listen.address }), port: listen.port, backlog });
  }

  #onListening(): void {
    this.#failures = 0;
    const { server, name, logger } = this.#options;
    const { address, port } = server.address() as AddressInfo;
    logger.info({ server: name, address, port }, 'server listens');
  }

  #onError(err: Error): void {
    const retryInMs = retryDelaysMs[Math.min(this.#failures, retryDelaysMs.length - 1)]!;
    this.#failures += 1;
    const { name, listen, logger } = this.#options;
    logger.error({ server: name, address: listen.address, port: listen.port, err, retryInMs }, 'failed to listen; retrying');
    this.#retry = setTimeout(() => this.#listen(), retryInMs);
  }
}
