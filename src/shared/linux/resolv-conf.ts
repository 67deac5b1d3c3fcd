/** resolv.conf, the node's as pods inherit it (upstream pkg/kubelet/network/dns). */
import { open, readFile } from 'node:fs/promises';

export interface ResolvConf {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** As upstream's: who names a device by mistake must not fill the memory. */
const maxResolvConfBytes = 10 * 1024 * 1024;
/** resolv.conf(5)'s limits as validation has them (pkg/apis/core/validation). */
export const maxNameservers = 3;
export const maxSearchPaths = 32;
export const maxSearchListChars = 2048;
/** Some resolvers abort on a longer one (glibc 2.28). */
export const maxSearchPathChars = 253;

/** Its text. Rejects with the system's error, which names the file. */
export async function readResolvConf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(64 * 1024), position: 0 });
    if (bytesRead < buffer.length) return buffer.toString('utf8', 0, bytesRead);
    const { size } = await file.stat();
    if (size > maxResolvConfBytes) throw new Error(`${path} has ${size} bytes, more than ${maxResolvConfBytes}`);
    return await readFile(path, 'utf8');
  } finally {
    await file.close();
  }
}

/** Nameservers add up; the last `search` line counts; of an option the last. Throws an Error on a nameserver line without an address. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (!keyword || keyword.startsWith('#')) continue;
    if (keyword === 'nameserver') {
      const [server] = values;
      if (server === undefined) throw new Error('nameserver list is empty ');
      servers.push(server);
    } else if (keyword === 'search') {
      // With and without the dot at the end it is the same domain, and would count twice.
      searches = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    } else if (keyword === 'options') {
      for (const option of values) options.set(option.split(':', 1)[0] ?? '', option);
    }
  }
  return { servers, searches, options: [...options.values()] };
}
