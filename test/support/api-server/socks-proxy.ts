/** A SOCKS5 proxy without authentication that records the targets. Every connection leads to this host. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const version = 5;
const succeeded = Buffer.from([version, 0, 0, 1, 127, 0, 0, 1, 0, 0]);

export class SocksProxy {
  readonly tunnels: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((near) => void this.#serve(near).catch(() => near.destroy()));
  }

  static async start(): Promise<SocksProxy> {
    const proxy = new SocksProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `socks5://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #serve(near: Socket): Promise<void> {
    this.#keep(near);
    await once(near, 'data');
    near.write(Buffer.from([version, 0]));
    const [request] = (await once(near, 'data')) as [Buffer];
    // A host name: preceded by its length and followed by the port.
    const end = 5 + request[4]!;
    const port = request.readUInt16BE(end);
    this.tunnels.push(`${request.toString('latin1', 5, end)}:${port}`);
    const far = connect(port, '127.0.0.1');
    this.#keep(far);
    await once(far, 'connect');
    near.write(succeeded);
    near.pipe(far).pipe(near);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
