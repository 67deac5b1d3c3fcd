/**
 * Serves files and folders of the host's logs as Go's http.FileServer does: folders as lists of links, files with range requests, redirects
 * for the trailing slash. Files are always plain text or bytes, so that a browser never runs a log as a page.
 */
import { readdir } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { FileHandle } from 'node:fs/promises';
import { error, ok, type Reply } from '../../../shared/http/reply.ts';
import type { RoutedRequest } from '../secure-routes.ts';
import { openInside } from './open-inside.ts';

/** As many as Go's http.DetectContentType reads. */
const sniffBytes = 512;

/** @param path relative to the first root; a trailing slash requests a folder */
export async function serveFile(roots: readonly [string, ...string[]], path: string, routed: RoutedRequest): Promise<Reply | null> {
  const opened = await openInside(roots, path);
  if (opened.type === 'missing') return error(404, '404 page not found');
  if (opened.type === 'forbidden') return error(403, '403 Forbidden');
  const { handle } = opened;
  try {
    const isFolder = path === '' || path.endsWith('/');
    const name = path.split('/').filter(Boolean).at(-1) ?? '';
    if (opened.type === 'folder') return isFolder ? await listing(handle) : movedPermanently(`${encodeURIComponent(name)}/`);
    if (isFolder) return movedPermanently(`../${encodeURIComponent(name)}`);
    await sendFile(handle, opened.size, opened.modifiedAtMs, routed);
    return null;
  } finally {
    await handle.close();
  }
}

function movedPermanently(location: string): Reply {
  return { status: 301, headers: { Location: location }, body: '' };
}

async function listing(handle: FileHandle): Promise<Reply> {
  const entries = await readdir(`/proc/self/fd/${handle.fd}`, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const lines = names.map((name) => {
    const [href, shown] = [name.split('/').map(encodeURIComponent).join('/'), name].map(escapeHtml);
    return `<a href="${href}">${shown}</a>\n`;
  });
  return ok(
    `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`,
    'text/html; charset=utf-8',
  );
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Sends as many bytes as the file had when it was opened, because a log may grow. */
async function sendFile(handle: FileHandle, size: number, modifiedAtMs: number, { request, response }: RoutedRequest): Promise<void> {
  const modified = new Date(Math.floor(modifiedAtMs / 1000) * 1000);
  const modifiedSinceMs = Date.parse(request.headers['if-modified-since'] ?? '');
  response.setHeader('Last-Modified', modified.toUTCString());
  if (modified.getTime() <= modifiedSinceMs) {
    response.writeHead(304).end();
    return;
  }
  const range = rangeOf(request.headers.range, size);
  if (range === 'unsatisfiable') {
    response.writeHead(416, { 'Content-Range': `bytes */${size}`, 'Content-Type': 'text/plain; charset=utf-8' });
    response.end('invalid range: failed to overlap\n');
    return;
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  response.writeHead(range ? 206 : 200, {
    'Content-Type': await contentType(handle),
    'X-Content-Type-Options': 'nosniff',
    'Accept-Ranges': 'bytes',
    'Content-Length': end - start + 1,
    ...(range && { 'Content-Range': `bytes ${start}-${end}/${size}` }),
  });
  if (end < start) {
    response.end();
    return;
  }
  let bytesSent = 0;
  const file = handle.createReadStream({ start, end, autoClose: false });
  file.on('data', (chunk) => (bytesSent += chunk.length));
  await pipeline(file, response, { end: false }).catch(() => response.destroy());
  // Breaks the connection when the file was truncated, because Content-Length was already sent.
  if (bytesSent === end - start + 1) response.end();
  else response.destroy();
}

/** As Go, text has no control characters but tab, line feed, form feed, carriage return and escape. */
async function contentType(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(sniffBytes), 0, sniffBytes, 0);
  const isText = buffer.subarray(0, bytesRead).every((byte) => byte >= 0x20 || [0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

/** Supports one range. Null for several ranges or an invalid header: the whole file is sent, which RFC 9110 allows. */
export function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return null;
  const [, first = '', last = ''] = match;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}
