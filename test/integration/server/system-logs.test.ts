import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parseRequestTarget } from '../../../src/workers/server/request-target.ts';
import { sendReply } from '../../../src/shared/http/send-reply.ts';
import { createSystemLogsHandler } from '../../../src/workers/server/system-logs/system-logs-handler.ts';

/** Serves the handler over a plain HTTP server, with a temporary log folder and a fake journalctl. */
async function someLogs(queries = true) {
  const folder = mkdtempSync(join(tmpdir(), 'logs-'));
  const logs = join(folder, 'log');
  const pods = join(folder, 'pods');
  for (const path of [logs, pods, join(logs, 'chrony'), join(folder, 'secret')]) mkdirSync(path);
  writeFileSync(join(logs, 'syslog'), 'line 1\nline 2\n');
  writeFileSync(join(logs, 'wtmp'), Buffer.from([0, 1, 2]));
  writeFileSync(join(logs, '<b>.log'), 'x');
  writeFileSync(join(logs, 'chrony/chrony.log'), 'ticks\n');
  writeFileSync(join(pods, '0.log'), 'of a pod\n');
  writeFileSync(join(folder, 'secret/key'), 'secret');
  symlinkSync(join(folder, 'secret/key'), join(logs, 'escape'));
  symlinkSync(join(folder, 'secret'), join(logs, 'escapes'));
  symlinkSync(join(pods, '0.log'), join(logs, 'pod.log'));
  symlinkSync('/dev/zero', join(logs, 'endless'));
  const journalctl = join(folder, 'journalctl');
  writeFileSync(journalctl, '#!/bin/sh\n[ "$1" = --field ] && { echo containerd.service; exit; }\nfor a in "$@"; do echo "$a"; done\n');
  chmodSync(journalctl, 0o755);
  const handler = createSystemLogsHandler({ roots: [logs, pods], queries, journalctl });
  const server = createServer((request, response) => {
    const target = parseRequestTarget(request.url ?? '');
    const serve = async () => {
      if ('status' in target) return target;
      return handler({ request, response, upgrade: null, method: request.method ?? '', ...target });
    };
    serve().then(
      (reply) => reply && sendReply(request, response, reply),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  return (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
        let body = '';
        response.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body })).on('error', reject);
      }).on('error', reject);
    });
}

test('the host’s logs are served as files and folders', async () => {
  const ask = await someLogs();
  const list = await ask('/logs/');
  assert.match(list.body, /<a href="syslog">syslog<\/a>\n/);
  assert.match(list.body, /<a href="%3Cb%3E.log">&#60;b&#62;.log<\/a>/);
  assert.match(list.body, /<a href="chrony\/">chrony\/<\/a>/);
  const file = await ask('/logs/syslog');
  assert.deepEqual([file.status, file.body, file.headers['content-type']], [200, 'line 1\nline 2\n', 'text/plain; charset=utf-8']);
  assert.equal((await ask('/logs/wtmp')).headers['content-type'], 'application/octet-stream');
  assert.equal((await ask('/logs/chrony')).headers.location, 'chrony/');
  assert.equal((await ask('/logs/syslog/')).status, 404);
  assert.equal((await ask('/logs/none')).status, 404);
  assert.equal((await ask('/logs/pod.log')).body, 'of a pod\n');
  const since = { 'If-Modified-Since': String(file.headers['last-modified']) };
  assert.equal((await ask('/logs/syslog', since)).status, 304);
});

const ranges: [range: string, status: number, body: string][] = [
  ['bytes=0-3', 206, 'line'],
  ['bytes=-7', 206, 'line 2\n'],
  ['bytes=7-', 206, 'line 2\n'],
  ['bytes=7-10000', 206, 'line 2\n'],
  ['bytes=14-', 416, 'invalid range: failed to overlap\n'],
  ['bytes=5-2', 200, 'line 1\nline 2\n'],
  ['lines=1', 200, 'line 1\nline 2\n'],
];
test('range requests return parts of a log', async () => {
  const ask = await someLogs();
  for (const [range, status, body] of ranges) {
    const answer = await ask('/logs/syslog', { Range: range });
    assert.deepEqual([range, answer.status, answer.body], [range, status, body]);
  }
});

test('paths outside of the log folder and special files are refused', async () => {
  const ask = await someLogs();
  for (const path of [
    '/logs/escape',
    '/logs/escapes/key',
    '/logs/escapes/',
    '/logs/endless',
    '/logs/../secret/key',
    '/logs/%2e%2e/secret/key',
    '/logs/..%2fsecret%2fkey',
    '/logs/%2e%2e%2fsecret/key',
    '/logs/syslog%00',
    '/logs/?query=/../secret/key',
    '/logs/?query=escape',
    '/logs/?query=..%5Csecret%5Ckey',
    '/logs/?query=..',
  ]) {
    const { status, body } = await ask(path);
    assert.ok(!body.includes('secret\n') && !body.endsWith('secret'), path);
    assert.ok(status >= 300 || body.includes('log not found'), `${path}: ${status} ${body}`);
  }
});

test('a service’s log is read from the journal or from its file', async () => {
  const ask = await someLogs();
  const journal = await ask('/logs/?query=containerd&tailLines=10&sinceTime=2026-01-02T03:04:05Z&pattern=err.*');
  assert.equal(journal.status, 200);
  assert.deepEqual(journal.body.trim().split('\n'), [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    '--since=2026-01-02 03:04:05 UTC',
    '--pager-end',
    '--lines=10',
    '--unit=containerd',
    '--grep=err.*',
  ]);
  assert.equal((await ask('/logs/?query=chrony')).body, 'ticks\n');
  assert.equal((await ask('/logs/?query=syslog')).body, 'line 1\nline 2\n');
  assert.match((await ask('/logs/?query=nothing')).body, /log not found for nothing/);
  assert.match((await ask('/logs/?query=syslog&tailLines=1')).body, /try without specifying options/);
  assert.equal((await ask('/logs/?query=/syslog')).body, 'line 1\nline 2\n');
  assert.equal((await ask('/logs/syslog?query=containerd')).status, 406);
  assert.equal((await ask('/logs/?query=a%3Brm&query=b')).status, 406);
});

test('a service’s log is compressed for a client that accepts gzip', async () => {
  const ask = await someLogs();
  for (const query of ['containerd&tailLines=10', 'chrony', 'nothing']) {
    const plain = await ask(`/logs/?query=${query}`, { 'Accept-Encoding': 'gzip;q=0' });
    const compressed = await ask(`/logs/?query=${query}`, { 'Accept-Encoding': 'br, gzip' });
    assert.deepEqual([plain.headers['content-encoding'], compressed.headers['content-encoding']], [undefined, 'gzip']);
    assert.equal(gunzipSync(Buffer.from(compressed.body, 'latin1')).toString('latin1'), plain.body);
  }
});

test('queries are ignored when they are disabled', async () => {
  const ask = await someLogs(false);
  assert.match((await ask('/logs/?query=containerd')).body, /<a href="syslog">/);
});
