/** Ports that a server can come back to: it is stopped and started again, and other processes know where it was. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below Linux' range for outgoing connections (32768 and up), one of which could take the port while the server is down. */
const lowest = 20_000;
const highest = 30_000;

/** Different ports that nobody listens on now. */
export async function stablePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let attempts = 0; ports.size < count; attempts += 1) {
    if (attempts > 1000) throw new Error(`no ${count} free ports between ${lowest} and ${highest}`);
    const port = randomInt(lowest, highest);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    // All addresses: one that is taken on any of them is of no use.
    await once(server.listen(port), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
