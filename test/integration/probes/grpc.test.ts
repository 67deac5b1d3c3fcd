/** gRPC probes against a real server, and against ports that speak something else. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { Server, ServerCredentials, status, type handleUnaryCall, type Metadata } from '@grpc/grpc-js';
import { startGRPC } from '../../../src/workers/probes/actions/grpc.ts';
import { attempt } from '../../support/probes/attempt.ts';

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

async function serve(path: string): Promise<number> {
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
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (err, port) => (err ? reject(err) : resolve(port))),
  );
}

test('answers of a health server', { timeout: 20_000 }, async () => {
  const port = await serve('/grpc.health.v1.Health/Check');
  const cases: readonly [service: string, want: string][] = [
    ['', 'success: '],
    ['down', 'failure: service unhealthy (responded with "NOT_SERVING")'],
    ['unknown', 'failure: service unhealthy (responded with "UNKNOWN")'],
    ['other', 'failure: error: health rpc probe failed: rpc error: code = NotFound desc = unknown service'],
    ['hang', 'failure: timeout: health rpc did not complete within 1s'],
  ];
  for (const [service, want] of cases) {
    const { outcome, output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service }, 1);
    assert.equal(`${outcome}: ${output}`, want, service);
  }
  assert.match(String(metadata?.get('user-agent')), /^kube-probe\/1\.36 grpc-/);
  const broken = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: 'broken' }, 1);
  assert.match(broken.output, /^error: health rpc probe failed: rpc error: code = Internal desc = /);
});

test('a timeout of more than 25 days, which is too long for a timer', { timeout: 20_000 }, async () => {
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

test('a server without the health service', { timeout: 20_000 }, async () => {
  const port = await serve('/other.Service/Check');
  const { outcome, output } = await attempt({ type: 'grpc', host: '127.0.0.1', port, service: '' }, 1);
  assert.equal(outcome, 'failure');
  assert.match(output, /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /);
});

test('no server, a silent one, and one that is no gRPC server, fail at the timeout', { timeout: 20_000 }, async () => {
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
