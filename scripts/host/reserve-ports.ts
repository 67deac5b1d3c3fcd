/** Finds ports that a server can use again after a restart. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below Linux' range for outgoing connections (from 32768), which could take the port while the server is stopped. */
const lowest = 20_000;
const highest = 30_000;

/** Returns distinct free ports. */
export async function reservePorts(count: number): Promise<number[]> {
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
    // Listens on all addresses, because the port must be free on each.
    await once(server.listen(port), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
