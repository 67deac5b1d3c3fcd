/** Servers that would make a TLS handshake expensive: the client offers what Go's client offers, and reads no more than a handshake needs. */
import assert from 'node:assert/strict';
import { createServer as createRawServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createServer as createHttpServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type TlsOptions } from 'node:tls';
import type { ProbeAction } from '../../../src/shared/contracts/probes.ts';
import { toHttpGet } from '../../../src/shared/http-get/request-parts.ts';
import { httpGet } from '../../../src/workers/pod-sync/pod/hook-request.ts';
import { costlyChain } from '../../support/probes/costly-chain.ts';
import { attempt } from '../../support/probes/attempt.ts';
import { httpAction, probedContainer, probedPod, probeSpec } from '../../support/probes/probed-pod.ts';
import { startProbesThread } from '../../support/probes/probes-thread.ts';
import { listen as listenFor } from '../../support/server/listen.ts';
import { table } from '../../support/table.ts';

const certificate = costlyChain('rsa', 1);
const http = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

const serve = (options: TlsOptions) =>
  listenFor(
    { after },
    createServer({ ...certificate, ...options }, (socket) => socket.on('error', () => {}).end(http)),
  );
const serveBytes = (write: (socket: Socket) => void) =>
  listenFor(
    { after },
    createRawServer((socket) => write(socket.on('error', () => {}))),
  );
const outcome = async (action: ProbeAction, port: number) => {
  const { output } = await attempt(action, 1);
  return output.replaceAll(String(port), 'PORT').replace(/:\d+->/, ':LOCAL->');
};
const https = (port: number) => httpAction(port, { scheme: 'https' });
const never = new AbortController().signal;

const refused = 'Get "https://127.0.0.1:PORT/healthz": remote error: tls: handshake failure';
const servers: readonly (readonly [name: string, options: TlsOptions, want: string])[] = [
  ['with elliptic curves', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' }, ''],
  ['with TLS 1.3', { minVersion: 'TLSv1.3' }, ''],
  ['with a hybrid key exchange', { minVersion: 'TLSv1.3', ecdhCurve: 'X25519MLKEM768' }, ''],
  ['that chooses Diffie-Hellman', { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' }, refused],
  ['that chooses a group of a finite field', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe3072' }, refused],
  ['that has the client encrypt the key', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }, refused],
];
table('HTTPS probes and hooks agree with a server on what Go agrees on', (row) => {
  for (const [name, options, want] of servers) {
    row(`a server ${name}`, async () => {
      const port = await serve(options);
      assert.equal(await outcome(https(port), port), want);
      const hook = httpGet(toHttpGet({ port, scheme: 'HTTPS' }, [], '127.0.0.1', 'lifecycle'), never);
      if (want === '') await hook;
      else await assert.rejects(hook, /remote error: tls: handshake failure$/);
    });
  }
});

test('a gRPC probe offers only ciphers that HTTP/2 allows', { timeout: 60_000 }, async () => {
  const port = await serve({ ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-SHA' });
  const failure = 'timeout: failed to connect service "127.0.0.1:PORT" within 1s: context deadline exceeded';
  assert.equal(await outcome({ type: 'grpc', host: '127.0.0.1', port, service: '', tls: true }, port), failure);
});

test('a handshake without an end is read up to 16 KiB', { timeout: 60_000 }, async () => {
  // A ServerHello with TLS 1.2, then a certificate message that is announced with 16 MiB.
  const record = (bytes: Buffer) => Buffer.concat([Buffer.from([22, 3, 3, bytes.length >> 8, bytes.length & 0xff]), bytes]);
  const hello = Buffer.concat([Buffer.from([2, 0, 0, 38, 3, 3]), Buffer.alloc(32), Buffer.from([0, 0xc0, 0x2f, 0])]);
  const endless = record(Buffer.alloc(16_384));
  let sent = 0;
  const port = await serveBytes((socket) => {
    socket.once('data', () => {
      socket.write(record(hello));
      socket.write(record(Buffer.from([11, 1, 0x86, 0, 1, 0x85, 0xfd])));
      const write = () => {
        while (!socket.destroyed && socket.write(endless)) sent += endless.length;
      };
      socket.on('drain', write);
      write();
    });
  });
  const want = 'Get "https://127.0.0.1:PORT/healthz": ';
  assert.ok((await outcome(https(port), port)).startsWith(want));
  assert.ok(sent < 8 * 1024 * 1024, `${sent} bytes were read`);
});

test('a chain of certificates that is costly to verify is not read to its end', { timeout: 60_000 }, async () => {
  for (const options of [{ maxVersion: 'TLSv1.2' }, { minVersion: 'TLSv1.3' }] as const) {
    const port = await serve({ ...costlyChain('ec', 40), ...options });
    const want =
      'Get "https://127.0.0.1:PORT/healthz": read tcp 127.0.0.1:LOCAL->127.0.0.1:PORT: read: the server sent more than 16384 bytes';
    assert.equal(await outcome(https(port), port), want);
  }
});

test('forty probes a second of one pod with costly chains leave the probes of others in time', { timeout: 60_000 }, async () => {
  const costly = await serve(costlyChain('ec', 11));
  let answered = 0;
  const healthy = await listenFor(
    { after },
    createHttpServer((_, response) => {
      answered += 1;
      response.end();
    }),
  );
  const harness = startProbesThread();
  after(() => harness.close());
  const { probes } = harness;
  const pod = (name: string, count: number, action: ProbeAction) =>
    probedPod(
      name,
      Array.from({ length: count }, (_, index) => probedContainer(`${name}-${index}`, [probeSpec(action)])),
    );
  await probes.setPods([pod('costly', 40, https(costly))]);
  await sleep(1500);
  await probes.setPods([pod('healthy', 5, httpAction(healthy))]);
  await sleep(1000);
  const before = answered;
  await sleep(3000);
  assert.ok(answered - before >= 12, `${answered - before} of 15 probes`);
});
