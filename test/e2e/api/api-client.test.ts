/** The API client with a node's credentials against a real API server: allowed and refused requests, and a restart of the server. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiPath, createReviews, type ApiClient, type ApiConnection } from '../../../src/main/api/index.ts';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { connectTo } from '../../support/api-server/api-connection.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import type { TestHooks } from '../../support/runtime/simulated-runtime.ts';

interface Named {
  readonly metadata: { readonly name: string; readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
}

const nodeName = 'node-a';
const nodePath = apiPath('api', 'v1', 'nodes', nodeName);
const podsPath = apiPath('api', 'v1', 'pods');
const fieldSelector = `spec.nodeName=${nodeName}`;

async function connectAsNode(t: TestHooks, cluster: TestCluster): Promise<ApiConnection> {
  const connection = await connectTo(cluster.controlPlane.kubeletKubeconfig(nodeName));
  t.after(() => connection.close());
  return connection;
}

const createNode = (client: ApiClient) =>
  client.call<Named>({
    method: 'POST',
    path: apiPath('api', 'v1', 'nodes'),
    body: { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } },
    trafficClass: 'node',
  });

/** Of an answer over HTTP/2. */
interface HeadersMessage {
  readonly response: { readonly headers: Readonly<Record<string, string>> };
}

function encodingOf({ response: { headers } }: HeadersMessage): string {
  return headers['content-encoding'] ?? '';
}

test('a node’s client against a real API server', async (t) => {
  const cluster = await privateCluster(t);
  const { client, host, renewConnections } = await connectAsNode(t, cluster);
  assert.equal(host, new URL(cluster.controlPlane.url).host);

  await t.test('creates its Node and patches its status', async () => {
    await createNode(client);
    const body = { metadata: { annotations: { 'example.org/kept': 'yes' } } };
    const patched = await client.call<Named>({ method: 'PATCH', path: nodePath, patch: 'strategic', body, trafficClass: 'node' });
    assert.equal(patched.metadata.annotations?.['example.org/kept'], 'yes');
    await client.call({ method: 'PATCH', path: `${nodePath}/status`, patch: 'merge', body: { status: {} }, trafficClass: 'node' });
  });

  await t.test('rejects with the server’s error messages', async () => {
    await assert.rejects(createNode(client), { code: 409, reason: 'AlreadyExists', message: `nodes "${nodeName}" already exists` });
    const secret = apiPath('api', 'v1', 'namespaces', 'default', 'secrets', 'x');
    const forbidden = { code: 403, reason: 'Forbidden', message: /no relationship found between node 'node-a' and this object/ };
    await assert.rejects(client.call({ method: 'GET', path: secret, trafficClass: 'objects' }), forbidden);
    const stale = { metadata: { resourceVersion: '1', annotations: { a: 'b' } } };
    const patch = { method: 'PATCH', path: nodePath, patch: 'merge', body: stale, trafficClass: 'node' } as const;
    await assert.rejects(client.call(patch), { code: 409, reason: 'Conflict' });
  });

  await t.test('requests token and access reviews', async () => {
    const { reviewToken, reviewAccess } = createReviews(client, systemClock);
    const token = await cluster.serviceAccountToken('default');
    assert.equal((await reviewToken(token)).user?.username, 'system:serviceaccount:default:default');
    assert.notEqual((await reviewToken('no-such-token')).authenticated, true);
    const resourceAttributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'metrics', name: nodeName };
    assert.equal((await reviewAccess({ user: 'kubernetes-admin', groups: ['system:masters'], resourceAttributes })).allowed, true);
    assert.equal((await reviewAccess({ user: 'jane', resourceAttributes })).allowed, false);
  });

  await t.test('a compressed watch starts with existing objects, and follows changes', async (sub) => {
    const namespace = await cluster.namespace(sub);
    const signal = AbortSignal.timeout(30_000);
    const query = {
      fieldSelector,
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: true,
      timeoutSeconds: 60,
    };
    const encodings: string[] = [];
    const note = (message: unknown) => encodings.push(encodingOf(message as HeadersMessage));
    subscribe('undici:request:headers', note);
    sub.after(() => void unsubscribe('undici:request:headers', note));
    const seen: string[] = [];
    for await (const event of client.watch<Named>({ path: podsPath, query, trafficClass: 'pods', signal })) {
      seen.push(`${event.type} ${event.object.metadata.name ?? ''}`.trim());
      if (event.type === 'BOOKMARK') {
        const pod = { metadata: { name: 'web' }, spec: { nodeName, containers: [{ name: 'c', image: 'x' }] } };
        await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, pod);
      } else break;
    }
    assert.deepEqual(seen, ['BOOKMARK', 'ADDED web']);
    // WatchListCompression: the whole watch, whose first flush is the bookmark.
    assert.ok(encodings.includes('gzip'), `${encodings.length} answers, none of them compressed`);
  });

  await t.test('parallel calls of all lanes succeed, also after a failed heartbeat', async () => {
    const get = () => client.call<Named>({ method: 'GET', path: nodePath, trafficClass: 'status' });
    const beforeRenewal = Array.from({ length: 40 }, get);
    renewConnections();
    const names = (await Promise.all([...beforeRenewal, ...Array.from({ length: 40 }, get)])).map(({ metadata }) => metadata.name);
    assert.deepEqual(new Set(names), new Set([nodeName]));
  });

  await t.test('a stopped server fails watches and calls, which succeed after its return', async () => {
    const signal = AbortSignal.timeout(60_000);
    const call = {
      path: podsPath,
      query: { fieldSelector, timeoutSeconds: 300 },
      trafficClass: 'pods',
      signal,
    } as const;
    const ended = (async () => {
      for await (const _ of client.watch(call));
    })().then(
      () => 'ended',
      (err: { code: number }) => err.code,
    );
    await sleep(200);
    await cluster.controlPlane.stopApiServer();
    assert.ok([0, 'ended'].includes(await ended));
    await assert.rejects(client.call({ method: 'GET', path: nodePath, trafficClass: 'node' }), { code: 0, reason: 'Unreachable' });
    await cluster.controlPlane.startApiServer();
    assert.equal((await client.call<Named>({ method: 'GET', path: nodePath, trafficClass: 'node' })).metadata.name, nodeName);
  });
});
