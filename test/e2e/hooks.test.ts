/** Lifecycle hooks of every kind on a real containerd. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { Container } from '../../src/shared/kubernetes/api.ts';
import { TestAuthority } from '../support/api-server/certificates.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { kubernetesMinor } from '../../src/shared/kubernetes/version.ts';

interface Request {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** A server on this host that receives hooks. It answers 500, which counts as a success of a hook. */
async function aServer(t: TestContext, scheme: 'HTTP' | 'HTTPS'): Promise<{ readonly port: number; readonly requests: Request[] }> {
  const requests: Request[] = [];
  const respond: RequestListener = ({ url, headers }, response) => {
    requests.push({ url, headers });
    response.writeHead(500).end();
  };
  const server =
    scheme === 'HTTP' ? createHttpServer(respond) : createHttpsServer(new TestAuthority('unknown authority').issue({}), respond);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

const sleepForever = 'while :; do sleep 1000 & wait $!; done';

describe('lifecycle hooks', { concurrency: 4 }, () => {
  let node: TestNode;
  let out: string;
  before(async () => {
    node = await TestNode.start(null);
    out = join(node.folder, 'out');
    mkdirSync(out);
    await node.startKubelet();
  });
  after(() => node.destroy());

  /** A pod whose container mounts the host folder `out` at /out. */
  const apply = (name: string, container: Partial<Container> & { readonly sh?: string }) => {
    const containers = [aBusybox({ volumeMounts: [{ name: 'out', mountPath: '/out' }], ...container })];
    node.apply(aManifest(name, { terminationGracePeriodSeconds: 20, containers, volumes: [{ name: 'out', hostPath: { path: out } }] }));
  };
  const read = (file: string) => readFileSync(join(out, file), 'utf8').trim();
  const untilLogged = (pattern: RegExp) => waitUntil(`${String(pattern)} is logged`, () => pattern.test(node.log()), 30_000);
  async function deletePod(name: string): Promise<void> {
    node.delete(name);
    await node.untilGone(name);
  }

  test('HTTP: to a host with headers and a query, and to the pod by a named port', async (t) => {
    const server = await aServer(t, 'HTTP');
    const page = '#!/bin/sh\\necho "$REQUEST_METHOD $PATH_INFO $HTTP_USER_AGENT $HTTP_X_HOOK" > /out/stopping; echo; echo';
    apply('http', {
      sh: `mkdir -p /www/cgi-bin; printf '${page}' > /www/cgi-bin/note; chmod +x /www/cgi-bin/note; httpd -p 8080 -h /www; trap 'exit 0' TERM; ${sleepForever}`,
      ports: [{ name: 'web', containerPort: 8080 }],
      lifecycle: {
        postStart: {
          httpGet: {
            host: '127.0.0.1',
            port: server.port,
            path: '/started?by=hook',
            httpHeaders: [
              { name: 'X-Hook', value: 'one' },
              { name: 'X-Hook', value: 'two' },
              { name: 'Host', value: 'named.test' },
            ],
          },
        },
        preStop: { httpGet: { port: 'web', path: '/cgi-bin/note/before-stop', httpHeaders: [{ name: 'X-Hook', value: 'three' }] } },
      },
    });
    await node.untilRunning('http');
    const [request, ...others] = server.requests;
    assert.deepEqual([request?.url, others.length], ['/started?by=hook', 0]);
    assert.deepEqual(
      [request?.headers['x-hook'], request?.headers.host, request?.headers['user-agent'], request?.headers.accept],
      ['one, two', 'named.test', `kube-lifecycle/${kubernetesMinor}`, '*/*'],
    );
    await deletePod('http');
    assert.equal(read('stopping'), `GET /before-stop kube-lifecycle/${kubernetesMinor} three`);
  });

  test('HTTPS: without verification, and with a fallback to HTTP', async (t) => {
    const [tls, plain] = [await aServer(t, 'HTTPS'), await aServer(t, 'HTTP')];
    const httpGet = { host: '127.0.0.1', scheme: 'HTTPS', path: '/hook' };
    const httpHeaders = [{ name: 'Authorization', value: 'Bearer secret' }];
    apply('https', {
      lifecycle: {
        postStart: { httpGet: { ...httpGet, port: tls.port, httpHeaders } },
        preStop: { httpGet: { ...httpGet, port: plain.port, httpHeaders } },
      },
    });
    await node.untilRunning('https');
    await deletePod('https');
    const urlsAndCredentials = (requests: readonly Request[]) => requests.map(({ url, headers }) => [url, headers.authorization]);
    assert.deepEqual(urlsAndCredentials(tls.requests), [['/hook', 'Bearer secret']]);
    assert.deepEqual(urlsAndCredentials(plain.requests), [['/hook', undefined]]);
    await untilLogged(/LifecycleHTTPFallback.*got HTTP response, retry with HTTP succeeded/);
  });

  test('a failed postStart hook kills the container with an event', async () => {
    const commands: Record<string, Container['lifecycle']> = {
      'bad-exec': { postStart: { exec: { command: ['sh', '-c', 'exit 3'] } } },
      'bad-http': { postStart: { httpGet: { host: '127.0.0.1', port: 1, path: '/' } } },
    };
    for (const [name, lifecycle] of Object.entries(commands)) apply(name, { lifecycle });
    for (const name of Object.keys(commands)) {
      await untilLogged(new RegExp(`FailedPostStartHook.*${name}|${name}.*FailedPostStartHook`));
      const pod = await node.until(
        name,
        'has a terminated container',
        ({ status }) => status?.containerStatuses?.[0]?.lastState?.terminated !== undefined,
      );
      assert.notEqual(pod.status?.containerStatuses?.[0]?.ready, true);
    }
    await untilLogged(/bad-http.*dial tcp 127\.0\.0\.1:1: connect: connection refused/);
  });

  test('a failed preStop hook leaves an event, and the container is stopped', async () => {
    apply('bad-stop', { lifecycle: { preStop: { httpGet: { host: '127.0.0.1', port: 1, path: '/' } } } });
    await node.untilRunning('bad-stop');
    await deletePod('bad-stop');
    await untilLogged(/FailedPreStopHook/);
  });

  test('a preStop hook runs once, to its end, when its pod is deleted meanwhile', async () => {
    apply('restarted', {
      livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
      lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo begun >> /out/hook; sleep 3; echo ended >> /out/hook'] } } },
    });
    await waitUntil('the hook has begun', () => existsSync(join(out, 'hook')), 30_000);
    await deletePod('restarted');
    assert.equal(read('hook'), 'begun\nended');
  });

  test('a command as postStart, a sleep as preStop', async () => {
    apply('sleeps', {
      sh: `trap "date +%s > /out/signal; exit 0" TERM; ${sleepForever}`,
      lifecycle: { postStart: { exec: { command: ['sh', '-c', 'echo $0 > /out/started', 'arg'] } }, preStop: { sleep: { seconds: 2 } } },
    });
    await node.untilRunning('sleeps');
    assert.equal(read('started'), 'arg');
    const deletedAtSeconds = Math.floor(Date.now() / 1000);
    await deletePod('sleeps');
    assert.ok(Number(read('signal')) >= deletedAtSeconds + 2, `${read('signal')} is not 2 s after ${deletedAtSeconds}`);
  });
});
