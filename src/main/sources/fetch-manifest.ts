/**
 * Fetches the manifest URL like Go's HTTP client, which upstream uses: up to ten redirects, credentials only for the configured host,
 * proxies from the environment, a deadline of ten seconds for everything.
 */
import { EnvHttpProxyAgent, type Dispatcher } from 'undici';
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
  const local = ['localhost', '127.0.0.1', '::1'];
  const agent = new EnvHttpProxyAgent({
    noProxy: [process.env['no_proxy'] ?? process.env['NO_PROXY'], ...local].filter(Boolean).join(','),
  });
  return {
    fetchManifest: (url, headers, signal) =>
      fetchFollowing(agent, new URL(url), headers, AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])),
    close: () => agent.destroy(),
  };
}

async function fetchFollowing(dispatcher: Dispatcher, first: URL, headers: Headers, signal: AbortSignal): Promise<Uint8Array> {
  let url = first;
  for (let hops = 0; hops < maxRedirects; hops += 1) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Error(`unsupported protocol scheme "${url.protocol.slice(0, -1)}"`);
    const {
      statusCode,
      headers: responseHeaders,
      body,
    } = await dispatcher.request({
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
