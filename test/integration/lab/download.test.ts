import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { download } from '../../../lab/programs/download.ts';

const content = Buffer.alloc(200_000, 'module ');
const sha256 = createHash('sha256').update(content).digest('hex');
const folder = mkdtempSync(join(tmpdir(), 'download-'));

let faults = 1;
const server = createServer((request, response) => {
  const { url, headers } = request;
  if (url === '/moved') response.writeHead(302, { location: '/good' }).end();
  else if (url === '/good') response.writeHead(200, { 'content-length': content.length }).end(content);
  else if (url === '/other') response.end('something else');
  else if (url === '/private') response.writeHead(headers.authorization === `Basic ${btoa('me:p@ss')}` ? 200 : 401).end(content);
  else if (url === '/once-cut' && faults > 0) {
    faults -= 1;
    response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, 1000), () => response.destroy());
  } else if (url === '/once-cut') response.end(content);
  else response.writeHead(url === '/gone' ? 410 : 404).end();
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const port = (server.address() as AddressInfo).port;
const at = (path: string) => `http://127.0.0.1:${port}${path}`;
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const local = join(folder, 'local');
writeFileSync(local, content);

const good: readonly [name: string, urls: string[]][] = [
  ['from the first source that has it', [at('/good')]],
  ['from the next source, when the previous ones do not have it', [at('/missing'), at('/gone'), at('/good')]],
  ['after a redirect', [at('/moved')]],
  ['from a file', [pathToFileURL(join(folder, 'missing')).href, pathToFileURL(local).href]],
  ['again after the connection broke', [at('/once-cut')]],
  ['with the credentials of its URL', [`http://me:p%40ss@127.0.0.1:${port}/private`]],
];
for (const [name, urls] of good) {
  test(`a file is fetched ${name}`, async () => {
    const messages: string[] = [];
    const path = join(folder, 'fetched');
    await download({
      sources: urls.map((url) => ({ url, fallsBackOnError: false })),
      sha256,
      path,
      progress: (what) => messages.push(what),
    });
    assert.deepEqual(readFileSync(path), content);
    assert.doesNotMatch(messages.join('\n'), /p@ss|p%40ss/);
    rmSync(path);
  });
}

test('a file with a wrong checksum is removed, and the error contains its checksum', async () => {
  const path = join(folder, 'fetched');
  const sources = [
    { url: at('/other'), fallsBackOnError: false },
    { url: at('/good'), fallsBackOnError: false },
  ];
  await assert.rejects(download({ sources, sha256, path, progress: () => {} }), /\/other: its SHA-256 is [0-9a-f]{64}, not/);
  assert.deepEqual(readdirSync(folder), ['local']);
});

test('a failing source falls back to the next one only if allowed, and the error lists each source', async () => {
  const path = join(folder, 'fetched');
  const other = { url: at('/other'), fallsBackOnError: true };
  await download({ sources: [other, { url: at('/good'), fallsBackOnError: false }], sha256, path, progress: () => {} });
  assert.deepEqual(readFileSync(path), content);
  const both = [{ url: at('/missing'), fallsBackOnError: false }, other];
  await assert.rejects(download({ sources: both, sha256, path, progress: () => {} }), /\/missing: it has none \(404\)\n.*\/other: its SHA/);
});
