/** Opens a server of a test on a free port of loopback. At the end of the test the server and all of its connections are closed. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface CleanupHooks {
  after(action: () => void): void;
}

export async function listen(t: CleanupHooks, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
