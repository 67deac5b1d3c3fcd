import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { Agent, get as httpGet } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { ContainerID } from '../../../src/shared/kubernetes/ids.ts';
import { Followers } from '../../../src/workers/server/logs/followers.ts';
import { aLogger } from '../../support/logger.ts';
import { aLogsServer } from '../../support/server/logs-server.ts';

const line = (text: string, tag = 'F') => `2026-01-02T03:04:05.6Z stdout ${tag} ${text}\n`;

async function aLog(content: string) {
  const server = await aLogsServer();
  mkdirSync(dirname(server.container.logPath), { recursive: true });
  writeFileSync(server.container.logPath, content);
  const read = async (query = '') => (await fetch(`${server.url}?${query}`)).text();
  return { ...server, read };
}

/** Follows a log and records the response. */
function follow(url: string, query = '', agent?: Agent) {
  const state = { text: '', status: 0, ended: false };
  const request = httpGet(`${url}?follow=true&${query}`, agent ? { agent } : {}, (response) => {
    state.status = response.statusCode!;
    response.setEncoding('utf8').on('data', (text: string) => (state.text += text));
    response.on('end', () => (state.ended = true)).on('error', () => {});
  });
  request.on('error', () => {});
  return { state, stop: () => request.destroy() };
}
async function waitUntil(what: string, check: () => boolean, timeoutMs = 20_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!check()) {
    if (Date.now() > deadline) assert.fail(`not within ${timeoutMs} ms: ${what}`);
    await sleep(5);
  }
}
/** Returns the number of open file descriptors of this process below the folder. */
function openBelow(folder: string): number {
  const links = execFileSync('sh', ['-c', `ls -l /proc/${process.pid}/fd | grep -c '${folder}' || true`], { encoding: 'utf8' });
  return Number(links);
}

test('a log is sent to its end as plain text', async () => {
  const { url } = await aLog(line('one', 'P') + line(' two') + line('three'));
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(response.headers.get('transfer-encoding'), 'chunked');
  assert.equal(await response.text(), 'one two\nthree\n');
});

test('an empty log is an empty response', async () => {
  const { url } = await aLog('');
  const response = await fetch(url);
  assert.deepEqual([response.status, await response.text()], [200, '']);
});

test('a tail is found from the end across many blocks', async () => {
  const numbers = Array.from({ length: 50_000 }, (_, n) => `line ${n}`);
  const { read, container } = await aLog(numbers.map((text) => line(text)).join(''));
  const last = (count: number) => numbers.slice(-count).map((text) => `${text}\n`);
  assert.equal(await read('tailLines=3'), last(3).join(''));
  assert.equal(await read('tailLines=20000'), last(20_000).join(''));
  assert.equal(await read('tailLines=50000'), last(50_000).join(''));
  assert.equal(await read('tailLines=9999999'), last(50_000).join(''));
  assert.equal(await read('tailLines=0'), '');
  assert.equal((await read('limitBytes=100000')).length, 100_000);
  appendFileSync(container.logPath, '2026-01-02T03:04:05Z stdout F with');
  assert.equal(await read('tailLines=1'), 'line 49999\n');
});

test('a missing log and an invalid log are errors', async () => {
  const { url, container, podLogsDir } = await aLog('no log at all\n');
  const garbage = await fetch(url);
  assert.deepEqual(
    [garbage.status, await garbage.text()],
    [400, 'failed to get parse function: unsupported log format: "no log at all\\n"'],
  );
  rmSync(container.logPath);
  const none = await fetch(url);
  assert.equal(none.status, 400);
  assert.match(await none.text(), /^failed to open log file ".*\/0\.log": ENOENT/);
  container.logPath = '';
  assert.match(await (await fetch(url)).text(), /^failed to open log file "": ENOENT/);
  const other = await fetch(url.replace('web', 'x'));
  assert.deepEqual([other.status, await other.text()], [404, 'pod "x" does not exist']);
  assert.equal((await fetch(`${url}?tailLines=x`)).status, 400);
  assert.equal((await fetch(`${url}?limitBytes=0`)).status, 422);
  assert.equal((await fetch(`${url}?stream=Stdout`)).status, 400);
  assert.equal(openBelow(podLogsDir), 0);
});

test('a log outside of the log folder is refused', async () => {
  const { url, container, podLogsDir } = await aLog('');
  const secret = join(podLogsDir, '..', `secret-${process.pid}`);
  writeFileSync(secret, line('secret'));
  const refused = async (why: RegExp) => {
    const response = await fetch(url);
    assert.equal(response.status, 400);
    const text = await response.text();
    assert.match(text, why);
    assert.doesNotMatch(text, /secret\n/);
  };
  try {
    rmSync(container.logPath);
    symlinkSync(secret, container.logPath);
    await refused(/it lies outside of/);
    // A symlinked folder in the path.
    rmSync(dirname(container.logPath), { recursive: true });
    symlinkSync(dirname(secret), dirname(container.logPath));
    container.logPath = join(dirname(container.logPath), `secret-${process.pid}`);
    await refused(/it lies outside of/);
    container.logPath = join(podLogsDir, '..', `secret-${process.pid}`);
    await refused(/it lies outside of/);
    container.logPath = podLogsDir;
    await refused(/not a regular file/);
    container.logPath = join(podLogsDir, 'pipe');
    execFileSync('mkfifo', [container.logPath]);
    await refused(/not a regular file/);
  } finally {
    rmSync(secret);
  }
});

test('a link within the log folder is followed', async () => {
  const { read, container, podLogsDir } = await aLog(line('one'));
  symlinkSync(container.logPath, join(podLogsDir, 'link.log'));
  container.logPath = join(podLogsDir, 'link.log');
  assert.equal(await read(), 'one\n');
});

test('a follower gets new lines until the container ends', async () => {
  const { url, container } = await aLog(line('old') + line('one'));
  const { state } = follow(url, 'tailLines=1');
  await waitUntil('the tail', () => state.text === 'one\n');
  appendFileSync(container.logPath, line('two'));
  await waitUntil('a line', () => state.text === 'one\ntwo\n');
  // A line in two writes.
  appendFileSync(container.logPath, line('three').slice(0, 30));
  await sleep(50);
  appendFileSync(container.logPath, line('three').slice(30));
  await waitUntil('a line in two writes', () => state.text === 'one\ntwo\nthree\n');
  appendFileSync(container.logPath, line('last'));
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, 'one\ntwo\nthree\nlast\n');
});

test('a follower gets the response headers before the first line', async () => {
  const { url } = await aLog('');
  const { state, stop } = follow(url);
  await waitUntil('the response headers', () => state.status === 200);
  stop();
});

test('a follower of an exited container gets the complete log', async () => {
  const { url, container } = await aLog(line('one'));
  container.state = 'exited';
  const { state } = follow(url);
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, 'one\n');
});

test('a follower continues across rotations without loss', async () => {
  const { url, container } = await aLog(line('0'));
  const { state } = follow(url);
  let written = '0\n';
  for (let n = 1; n <= 300; n += 1) {
    if (n % 100 === 0) {
      const rotated = `${container.logPath}.${n}`;
      renameSync(container.logPath, rotated);
      // The runtime writes to the old file until ReopenContainerLog.
      await sleep(20);
      appendFileSync(rotated, line(`late ${n}`));
      writeFileSync(container.logPath, '');
      appendFileSync(rotated, line(`last ${n}`));
      written += `late ${n}\nlast ${n}\n`;
      await sleep(10);
    }
    appendFileSync(container.logPath, line(String(n)));
    written += `${n}\n`;
    if (n % 10 === 0) await sleep(5);
  }
  await waitUntil('all lines', () => state.text.length >= written.length);
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, written);
});

/** Rotates the log as the kubelet does, the n-th time: the older rotations are compressed. */
function rotate(logPath: string, n: number): void {
  const folder = dirname(logPath);
  for (const name of readdirSync(folder).filter((each) => /-\d{6}$/.test(each))) {
    writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name))));
    rmSync(join(folder, name));
  }
  renameSync(logPath, `${logPath}.20260102-0000${String(n).padStart(2, '0')}`);
  writeFileSync(logPath, '');
}

for (const isRemoved of [false, true]) {
  test(`a follower that reads nothing for some time gets every line of four rotations meanwhile, ${isRemoved ? 'when its own log is removed' : 'of which three are compressed'}`, async () => {
    const { port, container, responses } = await aLog('');
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    socket.write('GET /web?follow=true HTTP/1.0\r\nHost: x\r\n\r\n');
    socket.pause();
    const padding = 'x'.repeat(1000);
    let written = 0;
    const write = (count: number) => {
      const rows = Array.from({ length: count }, (_, n) => line(`${padding} ${written + n}`));
      appendFileSync(container.logPath, rows.join(''));
      written += count;
    };
    write(20_000);
    await waitUntil('the buffers are full', () => responses.length === 1 && responses[0]!.writableNeedDrain);
    await sleep(100);
    for (let n = 1; n <= 4; n += 1) {
      rotate(container.logPath, n);
      write(1000);
    }
    if (isRemoved) rmSync(`${container.logPath}.20260102-000001.gz`);
    const received: string[] = [];
    socket.on('data', (data: string) => received.push(data));
    socket.resume();
    await waitUntil('the last line', () =>
      received
        .slice(-2)
        .join('')
        .includes(` ${written - 1}\n`),
    );
    container.state = 'exited';
    await waitUntil('the end', () => socket.destroyed || socket.readableEnded);
    const numbers = [...received.join('').matchAll(/^x+ (\d+)$/gm)].map(([, number]) => Number(number));
    assert.deepEqual([numbers.length, numbers.every((number, n) => number === n)], [written, true]);
  });
}

test('a follower gets late lines of a rotated log before those of the new one', async () => {
  const { url, container } = await aLog(line('1'));
  const { state } = follow(url);
  await waitUntil('the first line', () => state.text === '1\n');
  const runtime = openSync(container.logPath, 'a');
  rotate(container.logPath, 1);
  appendFileSync(container.logPath, line('3'));
  await sleep(300);
  writeSync(runtime, line('2'));
  closeSync(runtime);
  await waitUntil('all lines', () => state.text === '1\n2\n3\n');
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, '1\n2\n3\n');
});

test('a line that the rotation divides, bytes that are no text, and long lines arrive as they were written', async () => {
  const { url, container } = await aLog(line('begin', 'P'));
  const state = { bytes: Buffer.alloc(0), ended: false };
  httpGet(`${url}?follow=true`, (response) => {
    response.on('data', (data: Buffer) => (state.bytes = Buffer.concat([state.bytes, data])));
    response.on('end', () => (state.ended = true));
  });
  await waitUntil('the begin', () => state.bytes.length === 5);
  const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 0x0a));
  const long = 'l'.repeat(1_000_000);
  rotate(container.logPath, 1);
  // A runtime that does not divide lines, and one without a last newline.
  appendFileSync(container.logPath, line(' end\r') + line(long));
  await waitUntil('the long line', () => state.bytes.length > 1_000_000);
  rotate(container.logPath, 2);
  appendFileSync(container.logPath, Buffer.concat([Buffer.from(line('', 'P').slice(0, -1)), binary, Buffer.from('\n')]));
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.ok(state.bytes.equals(Buffer.concat([Buffer.from(`begin end\r\n${long}\n`), binary])));
});

test('a follower stays with a log whose rotation is undone', async () => {
  const { url, container } = await aLog(line('1'));
  const { state } = follow(url);
  await waitUntil('the first line', () => state.text === '1\n');
  const rotated = `${container.logPath}.20260102-000001`;
  renameSync(container.logPath, rotated);
  appendFileSync(rotated, line('2'));
  await waitUntil('a line without a log', () => state.text === '1\n2\n');
  linkSync(rotated, container.logPath);
  rmSync(rotated);
  appendFileSync(container.logPath, line('3'));
  await waitUntil('a line of the log', () => state.text === '1\n2\n3\n');
  rotate(container.logPath, 2);
  appendFileSync(container.logPath, line('4'));
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, '1\n2\n3\n4\n');
});

test('a log is readable while the runtime does not reopen it', async () => {
  const { read, url, container } = await aLog(line('old'));
  rotate(container.logPath, 1);
  appendFileSync(container.logPath, line('1'));
  renameSync(container.logPath, `${container.logPath}.20260102-000002`);
  assert.equal(await read(), '1\n');
  const { state } = follow(url, 'tailLines=1');
  await waitUntil('the tail', () => state.text === '1\n');
  writeFileSync(container.logPath, line('2'));
  await waitUntil('the new log', () => state.text === '1\n2\n');
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, '1\n2\n');
});

test('other files do not disturb a follower', async () => {
  const { url, container } = await aLog(line('1'));
  const { state } = follow(url);
  await waitUntil('the first line', () => state.text === '1\n');
  writeFileSync(`${container.logPath}.20990102-000001`, line('foreign'));
  mkdirSync(`${container.logPath}.20260102-000001`);
  appendFileSync(container.logPath, line('2'));
  await waitUntil('the second line', () => state.text === '1\n2\n');
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, '1\n2\n');
});

test('a follower continues after the file is truncated', async () => {
  const { url, container } = await aLog(line('one') + line('two'));
  const { state, stop } = follow(url);
  await waitUntil('the existing lines', () => state.text === 'one\ntwo\n');
  truncateSync(container.logPath, 0);
  await sleep(50);
  appendFileSync(container.logPath, line('three'));
  await waitUntil('the new line', () => state.text === 'one\ntwo\nthree\n');
  stop();
});

test('a follower ends when the container and its logs are removed', async () => {
  const { url, container } = await aLog(line('one'));
  const { state } = follow(url);
  await waitUntil('the existing lines', () => state.text === 'one\n');
  rmSync(dirname(container.logPath), { recursive: true });
  container.state = 'gone';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, 'one\n');
});

test('a follower ends at its byte limit', async () => {
  const { url, container } = await aLog(line('one'));
  const { state } = follow(url, 'limitBytes=6');
  await waitUntil('the first line', () => state.text === 'one\n');
  appendFileSync(container.logPath, line('two'));
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text, 'one\ntw');
});

test('200 followers are served, and their files are closed when they disconnect', async () => {
  const { url, container, podLogsDir } = await aLog(line('one'));
  const agent = new Agent({ maxSockets: Infinity });
  const followers = Array.from({ length: 200 }, () => follow(url, '', agent));
  await waitUntil('all followers', () => followers.every(({ state }) => state.text === 'one\n'));
  const idle = process.cpuUsage();
  await sleep(1_000);
  const { user, system } = process.cpuUsage(idle);
  assert.ok(user + system < 400_000, `200 idle followers cost ${(user + system) / 1000} ms of CPU in a second`);
  appendFileSync(container.logPath, line('two'));
  await waitUntil('the line at all of them', () => followers.every(({ state }) => state.text === 'one\ntwo\n'));
  for (const { stop } of followers) stop();
  await waitUntil('no open file', () => openBelow(podLogsDir) === 0);
});

test('500 followers of one container get every line, also while others read nothing', async () => {
  const { url, port, container, podLogsDir, responses } = await aLog(line('one'));
  const stalled = Array.from({ length: 50 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /web?follow=true HTTP/1.1\r\nHost: x\r\n\r\n');
    return socket.pause();
  });
  await waitUntil('they are served', () => responses.length === 50);
  const agent = new Agent({ maxSockets: Infinity });
  const followers = Array.from({ length: 450 }, () => follow(url, 'tailLines=0', agent));
  await waitUntil('all followers', () => followers.every(({ state }) => state.status === 200), 30_000);
  const another = await fetch(url);
  assert.deepEqual([another.status, await another.text()], [429, '500 logs are being read already, 500 of namespace default']);
  assert.equal(await (await fetch(`${url}/other-namespace`)).text(), 'one\n');
  const text = 'x'.repeat(1000);
  for (let n = 0; n < 200; n += 1) appendFileSync(container.logPath, line(`${n} ${text}`));
  appendFileSync(container.logPath, line('end'));
  await waitUntil('the last line at all of them', () => followers.every(({ state }) => state.text.endsWith('end\n')), 60_000);
  for (const { state } of followers) assert.equal(state.text.length, followers[0]!.state.text.length);
  assert.equal(followers[0]!.state.text.split('\n').length, 202);
  for (const { stop } of followers) stop();
  for (const socket of stalled) socket.destroy();
  await waitUntil('no open file', () => openBelow(podLogsDir) === 0, 30_000);
});

test('a container that writes without a pause wakes its followers seldom', async (t) => {
  const { podLogsDir } = await aLogsServer();
  const followers = new Followers({ containers: { relistedAtMs: 0, all: () => [] }, monotonicMs: () => 0, logger: aLogger().logger });
  const follower = followers.add('c' as ContainerID, podLogsDir);
  t.after(() => follower.close());
  let changes = 0;
  const count = async () => {
    for (let event = await follower.next(); event !== 'closed'; event = await follower.next()) changes += Number(event === 'changed');
  };
  void count();
  const startedAtMs = performance.now();
  for (let n = 0; n < 2000; n += 1) {
    appendFileSync(join(podLogsDir, '0.log'), line('one'));
    await new Promise(setImmediate);
  }
  const tookMs = performance.now() - startedAtMs;
  assert.ok(changes >= 1);
  assert.ok(changes <= tookMs / 9 + 2, `${changes} changes in ${tookMs} ms`);
  // The last change is not lost.
  const before = changes;
  appendFileSync(join(podLogsDir, '0.log'), line('last'));
  await waitUntil('the last change', () => changes > before);
});

test('a log of which the client wants nothing is not read on after the client has gone', async () => {
  const { url, container, podLogsDir } = await aLog('');
  // A line of 64 GiB, most of it a hole.
  truncateSync(container.logPath, 64 * 1024 ** 3);
  for (const query of ['sinceTime=2040-01-01T00:00:00Z', 'tailLines=1']) {
    const request = httpGet(`${url}?${query}`).on('error', () => {});
    await waitUntil(`${query} is being read`, () => openBelow(podLogsDir) === 1);
    request.destroy();
    await waitUntil(`${query} is not read on`, () => openBelow(podLogsDir) === 0);
  }
});

test('a line without an end arrives in pieces, with its NUL bytes, and is not kept in memory', async () => {
  const { url, container, responses } = await aLog(`2026-01-02T03:04:05.6Z stdout F `);
  truncateSync(container.logPath, 256 * 1024 * 1024);
  let received = 0;
  let peak = 0;
  const response = await fetch(`${url}?limitBytes=${200 * 1024 * 1024}`);
  for await (const chunk of response.body!) {
    assert.ok(chunk.every((byte: number) => byte === 0));
    received += chunk.length;
    peak = Math.max(peak, responses[0]!.writableLength);
  }
  assert.equal(received, 200 * 1024 * 1024);
  assert.ok(peak < 1024 * 1024, `${peak} bytes`);
});

for (const [what, archive] of [
  ['truncated', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ['no gzip', () => Buffer.from('no gzip')],
  ['empty', () => Buffer.alloc(0)],
] as const) {
  test(`a follower that meets an archive that is ${what} gets an end that names it, and the next one the log`, async () => {
    const { url, read, container, podLogsDir } = await aLog(line('one'));
    const { state } = follow(url);
    await waitUntil('the first line', () => state.text === 'one\n');
    const { logPath } = container;
    // A privileged pod replaces the rotated log while the follower does not look.
    writeFileSync(`${logPath}.20260101-000002.gz`, archive(gzipSync(Buffer.from(line('two').repeat(1000)))));
    renameSync(logPath, `${logPath}.20260101-000001`);
    rmSync(`${logPath}.20260101-000001`);
    writeFileSync(logPath, line('three'));
    container.state = 'exited';
    await waitUntil('the end', () => state.ended);
    assert.match(state.text, what === 'empty' ? /^one\n(.*0\.log.*|three\n)$/s : /^one\n.*0\.log\.20260101-000002\.gz/s);
    assert.equal(await read(), 'three\n');
    await waitUntil('no open file', () => openBelow(podLogsDir) === 0);
  });
}

test('a fast writer is followed without loss', async () => {
  const { url, container } = await aLog('');
  const { state } = follow(url);
  const rows = Array.from({ length: 100 }, (_, n) => line(`${n} ${'x'.repeat(100)}`)).join('');
  for (let n = 0; n < 200; n += 1) {
    appendFileSync(container.logPath, rows);
    if (n % 20 === 0) await sleep(10);
  }
  container.state = 'exited';
  await waitUntil('the end', () => state.ended);
  assert.equal(state.text.split('\n').length, 20_001);
});

test('a log is not read ahead for a client that reads nothing', async () => {
  const { port, container, responses, podLogsDir } = await aLog(line('x'.repeat(1000)).repeat(50_000));
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /web HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await waitUntil('the answer', () => responses.length === 1 && responses[0]!.writableLength > 0);
  await sleep(100);
  assert.ok(responses[0]!.writableLength < 1024 * 1024, String(responses[0]!.writableLength));
  socket.destroy();
  await waitUntil('no open file', () => openBelow(podLogsDir) === 0);
  assert.equal(readdirSync(dirname(container.logPath)).length, 1);
});

test('closing the server ends its followers', async () => {
  const { url, logs, podLogsDir } = await aLog(line('one'));
  const { state } = follow(url);
  await waitUntil('the existing lines', () => state.text === 'one\n');
  logs.close();
  await waitUntil('the end', () => state.ended);
  await waitUntil('no open file', () => openBelow(podLogsDir) === 0);
});

test('lines that can not be parsed are skipped and logged', async () => {
  const { read, lines } = await aLog(`${line('one')}garbage\0\n${line('two')}`);
  assert.equal(await read(), 'one\ntwo\n');
  assert.equal(lines.find(({ msg }) => msg === 'lines of a container log could not be read')?.lines, 1);
});
