/**
 * Fetches the manifest URL like Go's HTTP client, which upstream uses: up to ten redirects, credentials only for the configured host,
 * proxies from the environment by the rules of the API client, the host's certificate authorities, a deadline of ten seconds for everything.
 */
import { getCACertificates } from 'node:tls';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import { selectProxy } from '../api/http/select-proxy.ts';
import { stripURLCredentials } from '../config/strip-url-credentials.ts';
import { maxManifestBytes } from './manifest-source.ts';

export type Headers = Readonly<Record<string, readonly string[]>>;
/** Rejects unless the status is 200 and the body is below 10 MB. */
export type FetchManifest = (url: string, headers: Headers, signal: AbortSignal) => Promise<Uint8Array>;

const deadlineMs = 10_000;
const maxRedirects = 10;
/** An unused response body is read up to this size, so that the connection can be reused. */
const maxDiscardedBytes = 64 * 1024;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Sent only to the first host and its subdomains. */
const sensitiveHeaders: ReadonlySet<string> = new Set(['authorization', 'www-authenticate', 'cookie', 'cookie2']);

/** Owns the connections. Each source creates one. */
export function manifestFetcher(): { readonly fetchManifest: FetchManifest; readonly close: () => Promise<void> } {
  const connections = new ManifestConnections(process.env);
  return {
    fetchManifest: (url, headers, signal) =>
      fetchFollowing(connections, new URL(url), headers, AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])),
    close: () => connections.destroy(),
  };
}

/** Direct connections, and those through the proxies of the environment, which has one for each scheme. */
class ManifestConnections {
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #byRoute = new Map<string, Dispatcher>();

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    this.#environment = environment;
  }

  to(url: URL): Dispatcher {
    const proxy = selectProxy(url, '', this.#environment);
    const isTLS = url.protocol === 'https:';
    const route = `${isTLS} ${proxy}`;
    const known = this.#byRoute.get(route);
    if (known) return known;
    // As in Go, an intermediate authority in the host's store is a trust anchor.
    const tls = isTLS ? { ca: getCACertificates('system'), allowPartialTrustChain: true } : {};
    const dispatcher = proxy === null ? new Agent({ connect: tls }) : new ProxyAgent({ uri: proxy, requestTls: tls });
    this.#byRoute.set(route, dispatcher);
    return dispatcher;
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#byRoute.values()].map((dispatcher) => dispatcher.destroy()));
  }
}

async function fetchFollowing(connections: ManifestConnections, first: URL, headers: Headers, signal: AbortSignal): Promise<Uint8Array> {
  let url = first;
  for (let hops = 0; hops < maxRedirects; hops += 1) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Error(`unsupported protocol scheme "${url.protocol.slice(0, -1)}"`);
    const {
      statusCode,
      headers: responseHeaders,
      body,
    } = await connections.to(url).request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: headersFor(url, first, headers),
      signal,
    });
    const location = responseHeaders['location'];
    if (redirects.has(statusCode) && typeof location === 'string') {
      await body.dump({ limit: maxDiscardedBytes, signal });
      url = new URL(location, url);
      continue;
    }
    if (statusCode !== 200) {
      await body.dump({ limit: maxDiscardedBytes, signal });
      throw new Error(`${stripURLCredentials(url.href)}: ${statusCode}`);
    }
    return readBounded(body);
  }
  throw new Error(`stopped after ${maxRedirects} redirects`);
}

function headersFor(url: URL, first: URL, headers: Headers): Record<string, string[]> {
  const isTrusted = url.hostname === first.hostname || url.hostname.endsWith(`.${first.hostname}`);
  const sent = Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== 'host' && (isTrusted || !sensitiveHeaders.has(name.toLowerCase())))
    .map(([name, values]): [string, string[]] => [name, [...values]]);
  const hasOwn = sent.some(([name]) => name.toLowerCase() === 'authorization');
  if (url.username !== '' && !hasOwn) {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    sent.push(['authorization', [`Basic ${Buffer.from(credentials).toString('base64')}`]]);
  }
  return Object.fromEntries(sent);
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total >= maxManifestBytes) throw new Error(`too large for a manifest: more than ${maxManifestBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}
