/** Reads and parses the node's resolv.conf, which pods inherit (upstream pkg/kubelet/network/dns). */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

export interface ResolvConf {
  readonly servers: string[];
  readonly searches: string[];
  readonly options: string[];
}

/** Upstream's limit: a configured device must not fill the memory. */
const maxResolvConfBytes = 10 * 1024 * 1024;
/** Larger than any regular resolv.conf. */
const firstReadBytes = 16 * 1024;
/** The limits of resolv.conf(5) in API validation (pkg/apis/core/validation). */
export const maxNameservers = 3;
export const maxSearchPaths = 32;
export const maxSearchListChars = 2048;
/** Some resolvers abort on a longer path (glibc 2.28). */
export const maxSearchPathChars = 253;

/** Blocks the thread: the file is small, and every new pod needs it. Throws the system's error, which contains the path. */
export function readResolvConf(path: string): string {
  // Opening a configured pipe must not block until it has a writer.
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

/** Nameservers accumulate. The last `search` line and the last value of an option win. Throws an Error for a nameserver line without an address. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (!keyword || keyword.startsWith('#')) continue;
    if (keyword === 'nameserver') {
      const [server] = values;
      // Upstream's text, with its space at the end.
      if (server === undefined) throw new Error('nameserver list is empty ');
      servers.push(server);
    } else if (keyword === 'search') {
      // A trailing dot does not change the domain, which would otherwise count twice.
      searches = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    } else if (keyword === 'options') {
      for (const option of values) options.set(option.split(':', 1)[0] ?? '', option);
    }
  }
  return { servers, searches, options: [...options.values()] };
}
