/** gRPC probes against a real server, and against ports that speak something else. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants as http2, createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createServer as createTLSServer } from 'node:tls';
import { Server, ServerCredentials, status, type handleUnaryCall, type Metadata } from '@grpc/grpc-js';
import { startGRPC } from '../../../src/workers/probes/actions/grpc.ts';
import { selfSignedCertificate } from '../../../src/workers/server/tls/self-signed.ts';
import { listen } from '../../support/server/listen.ts';
import { attempt } from '../../support/probes/attempt.ts';
import { kubernetesMinor } from '../../../src/shared/kubernetes/version.ts';

type Check = handleUnaryCall<{ readonly service: string }, Buffer>;
const statuses: Readonly<Record<string, number>> = { '': 1, down: 2, unknown: 0 };
let metadata: Metadata | undefined;

const check: Check = ({ request: { service }, metadata: received }, done) => {
  metadata = received;
  if (service === 'hang') return;
  if (service === 'broken') return done(null, Buffer.from([8]));
  const answer = statuses[service];
  if (answer === undefined) done({ code: status.NOT_FOUND, details: 'unknown service' });
  else done(null, Buffer.from([8, answer]));
};

async function serve(path: string, atPort = 0, credentials = ServerCredentials.createInsecure()): Promise<number> {
  const server = new Server();
  const definition = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: ({ service }: { readonly service: string }) => Buffer.from(service),
    requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  };
  server.addService({ check: definition }, { check });
  after(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${atPort}`, credentials, (err, port) => (err ? reject(err) : resolve(port))),
  );
}

/** A busy host may need longer than a second for a reply. */
const timeoutFor = (want: string) => (want.includes('timeout: ') ? 1 : undefined);

test('answers of a health server', { timeout: 60_000 }, async () => {
  const port = await serve('/grpc.health.v1.Health/Check');
  const cases: readonly [service: string, want: string][] = [
    ['', 'success: '],
    ['down', 'failure: service unhealthy (responded with "NOT_SERVING")'],
    ['unknown', 'failure: service unhealthy (responded with "UNKNOWN")'],
    ['other', 'failure: error: health rpc probe failed: rpc error: code = NotFound desc = unknown service'],
    ['hang', 'failure: timeout: health rpc did not complete within 1s'],
  ];
  for (const [service, want] of cases) {
    const { outcome, output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service }, timeoutFor(want));
    assert.equal(`${outcome}: ${output}`, want, service);
  }
  assert.match(String(metadata?.get('user-agent')), new RegExp(`^kube-probe/${kubernetesMinor} grpc-`));
  const broken = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: 'broken' });
  assert.match(broken.output, /^error: health rpc probe failed: rpc error: code = Internal desc = /);
});

test('with TLS no certificate is verified, and a server without HTTP/2 fails at the timeout', { timeout: 60_000 }, async () => {
  const { cert, key } = selfSignedCertificate('elsewhere.example', Date.now());
  const path = '/grpc.health.v1.Health/Check';
  const tls = await serve(path, 0, ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }]));
  const plain = await serve(path);
  const other = await listen(
    { after },
    createTLSServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (socket) => socket.on('error', () => {})),
  );
  const unready = 'failure: timeout: failed to connect service "127.0.0.1:PORT" within 1s: context deadline exceeded';
  const cases: readonly [port: number, service: string, isTLS: boolean, want: string][] = [
    [tls, '', true, 'success: '],
    [tls, 'down', true, 'failure: service unhealthy (responded with "NOT_SERVING")'],
    [tls, 'hang', true, 'failure: timeout: health rpc did not complete within 1s'],
    [tls, '', false, unready],
    [plain, '', true, unready],
    [other, '', true, unready],
    [1, '', true, unready],
  ];
  const run = async ([port, service, isTLS, want]: (typeof cases)[number]) => {
    const { outcome, output } = await attempt(
      { type: 'grpc', host: '127.0.0.1', port, service, ...(isTLS && { tls: true }) },
      timeoutFor(want),
    );
    assert.equal(`${outcome}: ${output}`.replace(`:${port}"`, ':PORT"'), want);
  };
  await Promise.all(cases.map(run));
});

test('a server with TLS that sends pings without an end', { timeout: 60_000 }, async () => {
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const pings = Buffer.concat(Array.from({ length: 4000 }, () => Buffer.from([0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])));
  const server = createTLSServer({ ...selfSignedCertificate('elsewhere.example', Date.now()), ALPNProtocols: ['h2'] }, (socket) => {
    const write = () => {
      while (!socket.destroyed && socket.write(pings));
    };
    socket.on('error', () => {}).on('drain', write);
    socket.write(settings);
    write();
  });
  const port = await listen({ after }, server);
  const { output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '', tls: true });
  // The bound of this client, or that of Node's HTTP/2.
  assert.match(
    output,
    /^error: health rpc probe failed: rpc error: code = \w+ desc = .*(the server sent more than 1048576 bytes|Protocol error)/,
  );
});

test('a timeout of more than 25 days, which is too long for a timer', { timeout: 60_000 }, async () => {
  const port = await serve('/grpc.health.v1.Health/Check');
  for (const timeoutSeconds of [30 * 24 * 3600, 2 ** 31 - 1]) {
    // Without the helper's own timer, which would overflow.
    const ended = Promise.withResolvers<string>();
    const running = startGRPC({ type: 'grpc', host: '127.0.0.1', port, service: '' }, timeoutSeconds, ({ outcome, output }) =>
      ended.resolve(`${outcome}: ${output}`),
    );
    assert.equal(await ended.promise, 'success: ', String(timeoutSeconds));
    running.cancel();
  }
});

test('a server without the health service', { timeout: 60_000 }, async () => {
  const port = await serve('/other.Service/Check');
  const { outcome, output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' }, 1);
  assert.equal(outcome, 'failure');
  assert.match(output, /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /);
});

test('no server, a silent one, and one that is no gRPC server, fail at the timeout', { timeout: 60_000 }, async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  const other = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  after(() => sockets.forEach((socket) => socket.destroy()));
  for (const server of [silent, other]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    after(() => server.close());
  }
  const ports = [1, (silent.address() as AddressInfo).port, (other.address() as AddressInfo).port];
  const results = await Promise.all(ports.map((port) => attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' }, 1)));
  assert.deepEqual(
    results.map(({ outcome, output, doubt }) => `${outcome} ${doubt}: ${output}`),
    ports.map((port) => `failure time: timeout: failed to connect service "127.0.0.1:${port}" within 1s: context deadline exceeded`),
  );
});

test('servers that break the protocol', { timeout: 60_000 }, async () => {
  const started = (stream: ServerHttp2Stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
  const cases: readonly [name: string, serve: (stream: ServerHttp2Stream) => void, want: string][] = [
    ['no answer', () => {}, 'timeout: health rpc did not complete within 1s'],
    [
      'no trailers, ever',
      (stream) => {
        started(stream);
        stream.write(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
      },
      'timeout: health rpc did not complete within 1s',
    ],
    [
      'an endless message',
      (stream) => {
        started(stream);
        const write = () => {
          while (!stream.destroyed && stream.write(Buffer.alloc(16_384)));
        };
        stream.on('drain', write);
        stream.write(Buffer.from([0, 0, 0, 255, 255]));
        write();
      },
      'error: health rpc probe failed: rpc error: code = Internal desc = cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message',
    ],
    [
      'a page',
      (stream) => {
        stream.respond({ ':status': 404, 'content-type': 'text/html' });
        stream.end('<html>');
      },
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type "text/html"',
    ],
    [
      'a reset',
      (stream) => stream.close(http2.NGHTTP2_ENHANCE_YOUR_CALM),
      'error: health rpc probe failed: rpc error: code = ResourceExhausted desc = stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM',
    ],
    [
      'a lost connection',
      (stream) => stream.session?.destroy(),
      'error: health rpc probe failed: rpc error: code = Unavailable desc = closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR',
    ],
    ['a server that reads no request', (stream) => stream.session?.goaway(0, 0), 'timeout: health rpc did not complete within 1s'],
  ];
  for (const [name, serve, want] of cases) {
    const server = createHttp2Server();
    const sessions: ServerHttp2Session[] = [];
    server.on('session', (session) => sessions.push(session.on('error', () => {})));
    server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => {});
      serve(stream);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { outcome, output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' }, timeoutFor(want));
    assert.equal(`${outcome}: ${output}`, `failure: ${want}`, name);
    // The attempt leaves no connection.
    for (const session of sessions) if (!session.destroyed) await once(session, 'close');
    server.close();
  }
});

test('a server that sends updates of its window without an end', { timeout: 60_000 }, async () => {
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const updates = Buffer.concat(Array.from({ length: 5000 }, () => Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1])));
  const server = createServer((socket) => {
    const write = () => {
      while (!socket.destroyed && socket.write(updates));
    };
    socket.on('error', () => {}).on('drain', write);
    socket.write(settings);
    write();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' });
  const error = 'rpc error: code = ResourceExhausted desc = the server sent more than 1048576 bytes';
  assert.equal(output, `error: health rpc probe failed: ${error}`);
  server.close();
});

test('a server that starts within the timeout is found', { timeout: 60_000 }, async () => {
  const reserved = createServer();
  await new Promise<void>((resolve) => reserved.listen(0, '127.0.0.1', resolve));
  const { port } = reserved.address() as AddressInfo;
  // The first connection is closed before it has settings.
  reserved.once('connection', (socket) => {
    socket.on('error', () => {}).destroy();
    reserved.close(() => void serve('/grpc.health.v1.Health/Check', port));
  });
  const { outcome } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' });
  assert.equal(outcome, 'success');
});
