/** An HTTP proxy that opens CONNECT tunnels and records their targets. Every tunnel leads to this host. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export class ConnectProxy {
  readonly tunnels: string[] = [];
  /** Accepts connections and never responds. */
  isSilent = false;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((_request, response) => response.writeHead(405).end());
    this.#server.on('connect', (request, near: Socket) => {
      this.tunnels.push(request.url ?? '');
      this.#sockets.add(near);
      if (this.isSilent) return;
      const [, port] = (request.url ?? '').split(':');
      const far = connect(Number(port), '127.0.0.1', () => {
        near.write('HTTP/1.1 200 Connection established\r\n\r\n');
        near.pipe(far).pipe(near);
      });
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => {}).on('close', () => other.destroy());
      }
    });
  }

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
