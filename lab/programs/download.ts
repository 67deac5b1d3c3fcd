/** Downloads a large file from the first of several sources that has it, and verifies its checksum. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, renameSync, rmSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { EnvHttpProxyAgent, fetch } from 'undici';

export interface Source {
  /** `https:`, `http:` or `file:`; a user and password in it are sent as basic authorization. */
  readonly url: string;
  /** True: the next source is used after any error. False: only when this source does not have the file (404, 410). */
  readonly fallsBackOnError: boolean;
}

export interface DownloadOptions {
  readonly sources: readonly Source[];
  /** Hexadecimal. */
  readonly sha256: string;
  readonly path: string;
  /** Called with the source, and after each quarter of the file. */
  readonly progress: (what: string) => void;
}

const attempts = 3;
/** Timeout without data. The total time is not limited. */
const silenceMs = 30_000;

class NoSuchFile extends Error {}

/** Throws with the error of each source. */
export async function download({ sources, sha256, path, progress }: DownloadOptions): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  const errors: string[] = [];
  try {
    for (const { url, fallsBackOnError } of sources) {
      const shown = withoutPassword(url);
      try {
        progress(`from ${shown}`);
        const actual = await fetchTo(part, url, progress);
        if (actual !== sha256) throw new Error(`its SHA-256 is ${actual}, not ${sha256}: it is not used`);
        renameSync(part, path);
        return;
      } catch (err) {
        errors.push(`${shown}: ${reasonOf(err)}`);
        if (!fallsBackOnError && !(err instanceof NoSuchFile)) break;
      }
    }
  } finally {
    rmSync(part, { force: true });
  }
  throw new Error(errors.join('\n') || 'no source to fetch it from');
}

/** Retries with back-off. Returns the SHA-256 of the downloaded data. */
async function fetchTo(part: string, url: string, progress: (what: string) => void): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await copyTo(part, url, progress);
    } catch (err) {
      if (err instanceof NoSuchFile || attempt === attempts) throw err;
      progress(`${reasonOf(err)}: trying again`);
      await sleep(2 ** attempt * 500 * (0.5 + Math.random()));
    }
  }
}

async function copyTo(part: string, url: string, progress: (what: string) => void): Promise<string> {
  if (url.startsWith('file:')) return copyStream(localFile(url), part, progress);
  // Uses HTTPS_PROXY and the host's CAs, which a company's network may require.
  const tls = { ca: [...getCACertificates('default'), ...getCACertificates('system')] };
  const dispatcher = new EnvHttpProxyAgent({
    connect: tls,
    requestTls: tls,
    proxyTls: tls,
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  });
  try {
    const { target, headers } = withCredentials(url);
    const response = await fetch(target, { dispatcher, headers });
    if (response.status === 404 || response.status === 410) throw new NoSuchFile(`it has none (${response.status})`);
    if (!response.ok || response.body === null) throw new Error(`it answers ${response.status}`);
    return await copyStream({ data: response.body, bytes: Number(response.headers.get('content-length') ?? 0) }, part, progress);
  } finally {
    await dispatcher.destroy();
  }
}

interface IncomingFile {
  readonly data: AsyncIterable<Uint8Array>;
  /** 0 when unknown. */
  readonly bytes: number;
}

function localFile(url: string): IncomingFile {
  const path = fileURLToPath(url);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new NoSuchFile('there is no such file');
  return { data: createReadStream(path), bytes: found.size };
}

async function copyStream({ data, bytes }: IncomingFile, part: string, progress: (what: string) => void): Promise<string> {
  const hash = createHash('sha256');
  let received = 0;
  let quarters = 0;
  await pipeline(
    data,
    async function* counted(chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        received += chunk.length;
        const quarter = bytes > 0 ? Math.floor((received * 4) / bytes) : 0;
        if (quarter > quarters) progress(`${25 * quarter} % of ${megabytes(bytes)} MB`);
        quarters = quarter;
        yield chunk;
      }
    },
    createWriteStream(part),
  );
  return hash.digest('hex');
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6);
}

function withCredentials(url: string): { readonly target: string; readonly headers: Record<string, string> } {
  const target = new URL(url);
  const { username, password } = target;
  if (username === '') return { target: url, headers: {} };
  target.username = '';
  target.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { target: target.href, headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
}

function withoutPassword(url: string): string {
  const { origin, protocol, pathname } = new URL(url);
  return protocol === 'file:' ? pathname : `${origin}${pathname}`;
}

/** Includes the cause, because fetch's own message is only "fetch failed". */
function reasonOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause instanceof Error ? `${err.message} (${err.cause.message})` : err.message;
}
