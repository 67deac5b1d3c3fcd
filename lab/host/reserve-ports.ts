/** Finds ports for servers that other processes start, and that use them again after a restart. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ListenOptions, type Server } from 'node:net';

/** Below Linux' range for outgoing connections (from 32768), which could take the port while the server is stopped. */
const defaultRange = { lowest: 20_000, highest: 30_000 };

/**
 * Returns distinct free ports. No other process gets them before this one ends: a socket in Linux' abstract namespace, which is as wide as the network
 * namespace, stands for each. Its name is free again when the process has ended in any way.
 */
export async function reservePorts(count: number, { lowest, highest } = defaultRange): Promise<number[]> {
  const ports: number[] = [];
  for (let attempts = 0; ports.length < count; attempts += 1) {
    if (attempts > 1000) throw new Error(`no ${count} free ports between ${lowest} and ${highest}`);
    const port = randomInt(lowest, highest);
    const reservation = await listen({ path: `\0kubelet-test-port-${port}` });
    if (!reservation) continue;
    // On all addresses, because the port must be free on each.
    const server = await listen({ port });
    server?.close();
    if (server) ports.push(port);
    else reservation.close();
  }
  return ports;
}

export async function reservePort(): Promise<number> {
  const [port = 0] = await reservePorts(1);
  return port;
}

/** Undefined: somebody else listens there. */
async function listen(options: ListenOptions): Promise<Server | undefined> {
  const server = createServer().unref();
  try {
    await once(server.listen(options), 'listening');
    return server;
  } catch {
    return undefined;
  }
}
