/**
 * Authentication and authorization of the server by a real API server: tokens of service accounts with and without a role, and
 * tokens for other audiences.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createReviews } from '../../src/main/api/index.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { systemClock as clock } from '../../src/shared/time/clock.ts';
import { connectTo } from '../support/api-server/api-connection.ts';
import { conditionOf } from '../support/cluster/cluster-node.ts';
import { sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { aSecureServer } from '../support/server/secure-server.ts';
import { waitUntil, type TestHooks } from '../support/runtime/simulated-runtime.ts';
import { canConnect } from '../support/kubelet/can-connect.ts';
import { TestNode } from '../support/kubelet/test-node.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await sharedCluster();
});
after(() => cluster.close());

const nodeName = 'access-node';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Starts a server that sends its reviews with the node's credentials. Reviews are cached for `cacheMs`. */
async function aServer(t: TestHooks, cacheMs = 0) {
  const connection = await connectTo(cluster.controlPlane.kubeletKubeconfig(nodeName));
  t.after(() => connection.close());
  let reviews = 0;
  const { reviewToken, reviewAccess } = createReviews(connection.client, clock);
  const { ask } = await aSecureServer(t, {
    clientCA: readFileSync(cluster.controlPlane.caFile, 'utf8'),
    secure: {
      nodeName,
      authentication: { clientCAFile: '', reloadClientCAFile: true, webhook: { cacheTTLMs: cacheMs }, anonymous: false },
      authorization: { authorizedTTLMs: cacheMs, unauthorizedTTLMs: cacheMs },
    },
    mainApi: {
      reviewToken: (token) => {
        reviews += 1;
        return reviewToken(token);
      },
      reviewAccess: (spec) => {
        reviews += 1;
        return reviewAccess(spec);
      },
    },
  });
  const sendWith = async (token: string, path: string, method = 'GET') => {
    const { status, body } = await ask(path, { method, headers: { Authorization: `Bearer ${token}` } });
    return { status, body };
  };
  return { sendWith, reviews: () => reviews };
}

/** Grants the namespace's default service account these rights on nodes. */
async function allow(t: TestHooks, namespace: string, resources: readonly string[]): Promise<void> {
  const name = `${namespace}-nodes`;
  await cluster.api.create(`${rbac}/clusterroles`, { metadata: { name }, rules: [{ apiGroups: [''], resources, verbs: ['get'] }] });
  await cluster.api.create(`${rbac}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
  });
  t.after(async () => {
    await cluster.api.delete(`${rbac}/clusterrolebindings/${name}`);
    await cluster.api.delete(`${rbac}/clusterroles/${name}`);
  });
}

test('a service account can use the endpoints of its role only', async (t) => {
  const namespace = await cluster.namespace(t);
  const { sendWith } = await aServer(t);
  const token = await cluster.serviceAccountToken(namespace);
  const user = `system:serviceaccount:${namespace}:default`;
  assert.deepEqual(await sendWith(token, '/metrics'), {
    status: 403,
    body: `Forbidden (user=${user}, verb=get, resource=nodes, subresource(s)=[metrics])\n`,
  });
  await allow(t, namespace, ['nodes/metrics', 'nodes/pods']);
  // The API server caches RBAC objects.
  for (let attempt = 0; attempt < 100 && (await sendWith(token, '/metrics')).status !== 200; attempt += 1) await clock.sleep(50);
  assert.equal((await sendWith(token, '/metrics')).status, 200);
  assert.equal((await sendWith(token, '/pods')).status, 200);
  assert.equal((await sendWith(token, '/configz')).status, 403);
  assert.equal(
    (await sendWith(token, '/debug/timeline')).body,
    `Forbidden (user=${user}, verb=get, resource=nodes, subresource(s)=[proxy])\n`,
  );
  assert.equal((await sendWith(token, '/exec/default/web/app?command=sh', 'POST')).status, 403);
});

test('a token for another audience and an invalid token are refused', async (t) => {
  const namespace = await cluster.namespace(t);
  const { sendWith } = await aServer(t);
  const foreign = await cluster.serviceAccountToken(namespace, 'default', { audiences: ['vault.example'] });
  for (const token of [foreign, 'no-such-token'])
    assert.deepEqual(await sendWith(token, '/healthz'), { status: 401, body: 'Unauthorized' });
});

test('cached reviews are not requested again', async (t) => {
  const namespace = await cluster.namespace(t);
  const { sendWith, reviews } = await aServer(t, 60_000);
  const token = await cluster.serviceAccountToken(namespace);
  for (let i = 0; i < 3; i += 1) assert.equal((await sendWith(token, '/metrics')).status, 403);
  assert.equal(reviews(), 2);
});

test('the API server’s proxy serves health, metrics, pods, flags, host logs and profiles to an admin', async (t) => {
  const proxiedNode = 'proxied-node';
  const member = await cluster.member(t, proxiedNode);
  const config = { ...member.config, enableSystemLogQuery: true, enableDebugFlagsHandler: true };
  const node = await TestNode.start(t, { ...member, config });
  await node.startKubelet();
  const proxied = `/api/v1/nodes/${proxiedNode}/proxy`;
  await waitUntil(
    'the API server reaches the kubelet',
    async () => (await cluster.runKubectl(['get', '--raw', `${proxied}/healthz`])).stdout === 'ok',
  );
  const get = (path: string) => cluster.kubectl('get', '--raw', `${proxied}${path}`);
  assert.match(
    await get('/metrics'),
    /\nauthentication_token_cache_request_total|\nkubelet_http_requests_total\{[^}]*server_type="readwrite"\}/,
  );
  assert.match(await get('/metrics/slis'), /\nkubernetes_healthcheck\{name="syncloop",type="healthz"\} 1\n/);
  assert.equal(await get('/healthz/syncloop'), 'ok');
  assert.match(await get('/healthz?verbose'), /^\[\+\]ping ok\n[^]*\nhealthz check passed\n$/);
  const { stdout, stderr } = await cluster.runKubectl(['replace', '--raw', `${proxied}/debug/flags/v`, '-f', '-'], { input: '4' });
  assert.equal(stdout, 'successfully set klog.logging.verbosity to 4', stderr);
  assert.equal((JSON.parse(await get('/pods')) as { kind: string }).kind, 'PodList');
  assert.equal((JSON.parse(await get('/runningpods/')) as { kind: string }).kind, 'PodList');
  assert.match(await get('/configz'), /"enableSystemLogQuery":true/);
  assert.deepEqual(JSON.parse(await get('/debug/timeline')), { pods: [], total: 0 });
  assert.match(await get('/flagz'), new RegExp(`\\nhostname-override=${proxiedNode}\\n`));
  // The role of the API server's own certificate (system:kubelet-api-admin) lacks this right, also with upstream's kubelet.
  assert.match((await cluster.runKubectl(['get', '--raw', `${proxied}/statusz`])).stderr, /Forbidden .*subresource\(s\)=\[statusz\]/);
  assert.match(await get('/logs/'), /<a href="containers\/">/);
  assert.match(await get('/logs/?query=no-such-service'), /log not found for no-such-service/);
  const refused = await cluster.runKubectl(['get', '--raw', `${proxied}/logs/?query=%3Brm`]);
  assert.match(refused.stderr, /input contains unsupported characters|not acceptable/i);
  assert.ok((await get('/debug/pprof/profile?seconds=1')).length > 100);
});

test('a node is Ready once its server listens, however late that is', async (t) => {
  const lateNode = 'late-node';
  const member = await cluster.member(t, lateNode);
  const preload = join(import.meta.dirname, '../support/preloads/late-server.mjs');
  const node = await TestNode.start(t, { ...member, env: { NODE_OPTIONS: `--import=${preload}` } });
  const started = node.startKubelet();
  t.after(() => started);
  const readOf = async () => conditionOf((await cluster.api.find<Pod>(`/api/v1/nodes/${lateNode}`))?.status, 'Ready');
  await waitUntil('the node is registered', async () => (await readOf()) !== undefined);
  assert.equal(await canConnect(member.port), false);
  await waitUntil('the node is Ready', async () => (await readOf()) === 'True');
  assert.equal(await cluster.api.text(`/api/v1/nodes/${lateNode}/proxy/healthz`), 'ok');
});
