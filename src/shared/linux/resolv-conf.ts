/** resolv.conf, the node's as pods inherit it (upstream pkg/kubelet/network/dns). */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

export interface ResolvConf {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** As upstream's: who names a device by mistake must not fill the memory. */
const maxResolvConfBytes = 10 * 1024 * 1024;
/** Enough for all but a device. */
const firstReadBytes = 16 * 1024;
/** resolv.conf(5)'s limits as validation has them (pkg/apis/core/validation). */
export const maxNameservers = 3;
export const maxSearchPaths = 32;
export const maxSearchListChars = 2048;
/** Some resolvers abort on a longer one (glibc 2.28). */
export const maxSearchPathChars = 253;

/**
 * Its text. A small file of the node's own, which every new pod needs: read on this thread at once. Throws the system's error, which names
 * the file.
 */
export function readResolvConf(path: string): string {
  // Whoever names a pipe by mistake must not wait for its other end.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(firstReadBytes);
    const bytesRead = readSync(file, buffer, 0, buffer.length, null);
    if (bytesRead < buffer.length) return buffer.toString('utf8', 0, bytesRead);
    const { size } = fstatSync(file);
    if (size > maxResolvConfBytes) throw new Error(`${path} has ${size} bytes, more than ${maxResolvConfBytes}`);
    return readFileSync(path, 'utf8');
  } finally {
    closeSync(file);
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
