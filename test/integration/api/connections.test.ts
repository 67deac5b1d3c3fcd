/** The connections of the API client's calls and watches, and the detection of dead ones. */
import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScriptedApiServer, sendJSON } from '../../support/api-server/scripted-api-server.ts';
import { ConnectProxy } from '../../support/api-server/connect-proxy.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { SocksProxy } from '../../support/api-server/socks-proxy.ts';
import { aClient, collect, getPod, isError, pod, server, until, useServer, withServer } from '../../support/api-server/api-client-suite.ts';

useServer();

test('a hundred watches and concurrent calls use two connections', async () => {
  server.handle = (request, response) => {
    if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const { client } = await aClient();
  const before = server.connections;
  const controller = new AbortController();
  let begun = 0;
  const watches = Array.from({ length: 100 }, async (_, i) => {
    const path = `/api/v1/namespaces/n/secrets/s${i}`;
    for await (const _event of client.watch({ path, trafficClass: 'objects', signal: controller.signal })) begun += 1;
  });
  await until(() => begun >= 100);
  await client.call(getPod);
  assert.equal(server.connections - before, 2);
  controller.abort();
  await Promise.all(watches);
});

test('watches beyond the server’s stream limit use another connection', async () => {
  await withServer(await ScriptedApiServer.start({ maxStreams: 20 }), async () => {
    server.handle = (_request, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    };
    const { client } = await aClient();
    const controller = new AbortController();
    let begun = 0;
    const watches = Array.from({ length: 50 }, async () => {
      for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'objects', signal: controller.signal })) begun += 1;
    });
    await until(() => begun === 50);
    assert.equal(server.connections, 3);
    controller.abort();
    await Promise.all(watches);
  });
});

for (const { name, behindProxy } of [
  { name: 'a peer', behindProxy: false },
  { name: 'a peer behind a proxy', behindProxy: true },
]) {
  test(`${name} that vanished is detected by pings: its watch ends, and the next one uses another connection`, async () => {
    server.handle = (_request, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    };
    const wire = await BlackHole.before(server.port);
    const proxy = await ConnectProxy.start();
    try {
      const url = `https://127.0.0.1:${wire.port}`;
      const cluster = { server: url, ...(behindProxy && { 'proxy-url': proxy.url }) };
      const { client } = await aClient({}, { cluster, pingIntervalMs: 30 });
      const { signal } = new AbortController();
      let isQuiet = false;
      await assert.rejects(
        async () => {
          for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) {
            // The connection is idle but alive, because the pings are answered.
            void sleep(10 * 30).then(() => (isQuiet = wire.swallows = true));
          }
        },
        (err) => isQuiet && isError(0, 'Unreachable')(err),
      );
      wire.swallows = false;
      for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) break;
      assert.equal(proxy.tunnels.length > 0, behindProxy);
    } finally {
      await proxy.close();
      await wire.close();
    }
  });
}

test('calls use a new connection after a failed heartbeat', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client, renewConnections } = await aClient();
  await client.call(getPod);
  const before = server.connections;
  renewConnections();
  await client.call(getPod);
  assert.equal(server.connections, before + 1);
});

test('with DISABLE_HTTP2 everything uses HTTP/1.1, and each watch a separate connection', async () => {
  server.handle = (request, response) => {
    if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const { client } = await aClient({}, { environment: { DISABLE_HTTP2: '1' } });
  const controller = new AbortController();
  let begun = 0;
  const watches = Array.from({ length: 5 }, async () => {
    for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal: controller.signal })) begun += 1;
  });
  await until(() => begun >= 5);
  await Promise.all(Array.from({ length: 10 }, () => client.call(getPod)));
  assert.deepEqual(new Set(server.requests.map(({ protocol }) => protocol)), new Set(['1.1']));
  controller.abort();
  await Promise.all(watches);
});

for (const { name, proxies, cluster, environment } of [
  { name: 'of the kubeconfig', proxies: ConnectProxy, cluster: (url: string) => ({ 'proxy-url': url }), environment: () => ({}) },
  { name: 'of the kubeconfig by SOCKS', proxies: SocksProxy, cluster: (url: string) => ({ 'proxy-url': url }), environment: () => ({}) },
  {
    name: 'of the environment',
    proxies: ConnectProxy,
    cluster: () => ({}),
    environment: (url: string) => ({ HTTPS_PROXY: url, NO_PROXY: 'example.org' }),
  },
]) {
  test(`calls and watches go through the proxy ${name}, and TLS ends at the server`, async () => {
    server.handle = (request, response) => {
      if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    };
    const proxy = await proxies.start();
    try {
      const elsewhere = { ...cluster(proxy.url), server: `https://api.example:${server.port}`, 'tls-server-name': 'kubernetes' };
      const { client } = await aClient({ token: 'secret' }, { cluster: elsewhere, environment: environment(proxy.url) });
      assert.deepEqual(await client.call(getPod), pod);
      const { signal } = new AbortController();
      for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) break;
      assert.deepEqual(new Set(proxy.tunnels), new Set([`api.example:${server.port}`]));
      assert.equal(server.requests[0]?.headers['authorization'], 'Bearer secret');
    } finally {
      await proxy.close();
    }
  });
}

test('calls and watches through a hanging proxy fail at their deadline, and succeed when the proxy responds again', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const proxy = await ConnectProxy.start();
  try {
    const behind = { 'proxy-url': proxy.url, 'tls-server-name': 'kubernetes' };
    const clock = new FakeClock();
    const { client, renewConnections } = await aClient({}, { cluster: behind, clock });
    proxy.isSilent = true;
    const { signal } = new AbortController();
    const ends = [client.call(getPod), collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal }))].map((end) =>
      assert.rejects(end, isError(0, 'Timeout')),
    );
    await until(() => proxy.tunnels.length === 2);
    await clock.advance(60_000);
    await Promise.all(ends);
    proxy.isSilent = false;
    renewConnections();
    assert.deepEqual(await client.call(getPod), pod);
  } finally {
    await proxy.close();
  }
});

test('connections to this host do not use the proxy of the environment', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({}, { environment: { HTTPS_PROXY: 'http://127.0.0.1:1' } });
  assert.deepEqual(await client.call(getPod), pod);
});

/** A TCP relay to a server that can drop all traffic. */
class BlackHole {
  swallows = false;
  readonly #sockets: Socket[] = [];
  readonly #server: Server;

  private constructor(target: number) {
    this.#server = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.push(from);
        let isDead = false;
        from.on('data', (chunk) => void ((isDead ||= this.swallows) || to.write(chunk)));
        from.on('error', () => {}).on('close', () => to.destroy());
      }
    });
  }

  static async before(target: number): Promise<BlackHole> {
    const wire = new BlackHole(target);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
