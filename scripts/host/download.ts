/** One large file from the first of several places that has it, checked against its checksum before anybody sees it. */
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
  /** Else the next source is asked only where this one has no such file (404, 410). */
  readonly fallsBackOnError: boolean;
}

export interface DownloadOptions {
  readonly sources: readonly Source[];
  /** Of the whole file, in hexadecimal. */
  readonly sha256: string;
  readonly path: string;
  /** Hears where it comes from, and each further quarter of it. */
  readonly say: (what: string) => void;
}

const attempts = 3;
/** A server that says nothing for that long is gone; how long all of it takes is the line's matter. */
const silenceMs = 30_000;

class NoSuchFile extends Error {}

/** Throws with what each source said, or that what came is not what was asked for. */
export async function download({ sources, sha256, path, say }: DownloadOptions): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  const complaints: string[] = [];
  try {
    for (const { url, fallsBackOnError } of sources) {
      const shown = withoutPassword(url);
      try {
        say(`from ${shown}`);
        const found = await fetchTo(part, url, say);
        if (found !== sha256) throw new Error(`its SHA-256 is ${found}, not ${sha256}: it is not used`);
        renameSync(part, path);
        return;
      } catch (err) {
        complaints.push(`${shown}: ${reasonOf(err)}`);
        if (!fallsBackOnError && !(err instanceof NoSuchFile)) break;
      }
    }
  } finally {
    rmSync(part, { force: true });
  }
  throw new Error(complaints.join('\n') || 'there is no place to fetch it from');
}

/** A line that breaks is tried again, each time after a longer while. Answers with the SHA-256 of what came. */
async function fetchTo(part: string, url: string, say: (what: string) => void): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await copyTo(part, url, say);
    } catch (err) {
      if (err instanceof NoSuchFile || attempt === attempts) throw err;
      say(`${reasonOf(err)}: trying again`);
      await sleep(2 ** attempt * 500 * (0.5 + Math.random()));
    }
  }
}

async function copyTo(part: string, url: string, say: (what: string) => void): Promise<string> {
  if (url.startsWith('file:')) return copyStream(localFile(url), part, say);
  // Behind a company's proxy as anybody else's programs: HTTPS_PROXY and the host's own authorities count.
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
    return await copyStream({ data: response.body, bytes: Number(response.headers.get('content-length') ?? 0) }, part, say);
  } finally {
    await dispatcher.destroy();
  }
}

interface Arriving {
  readonly data: AsyncIterable<Uint8Array>;
  /** 0 where nobody has said it. */
  readonly bytes: number;
}

function localFile(url: string): Arriving {
  const path = fileURLToPath(url);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new NoSuchFile('there is no such file');
  return { data: createReadStream(path), bytes: found.size };
}

async function copyStream({ data, bytes }: Arriving, part: string, say: (what: string) => void): Promise<string> {
  const hash = createHash('sha256');
  let come = 0;
  let quarters = 0;
  await pipeline(
    data,
    async function* counted(chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        come += chunk.length;
        const quarter = bytes > 0 ? Math.floor((come * 4) / bytes) : 0;
        if (quarter > quarters) say(`${25 * quarter} % of ${megabytes(bytes)} MB`);
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

/** What fetch throws says "fetch failed", and its cause why. */
function reasonOf(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause instanceof Error ? `${err.message} (${err.cause.message})` : err.message;
}
