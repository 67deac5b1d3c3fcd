/** The control plane that the other end-to-end tests use: what it allows a node, and that its controllers work. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { ApiClient } from '../../lab/control-plane/control-plane-api.ts';
import { FaultyApiServer, isWatch, type Matches } from '../support/api-server/api-server-faults.ts';
import { privateCluster, sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../support/kubelet/test-node.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}
interface Labelled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}
interface List {
  readonly items: readonly Named[];
}

describe('the shared control plane', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await sharedCluster();
  });
  after(() => cluster.close());

  test('answers kubectl of its own version', async () => {
    assert.equal(await cluster.kubectl('get', '--raw', '/readyz'), 'ok');
    const { clientVersion, serverVersion } = JSON.parse(await cluster.kubectl('version', '-o', 'json')) as {
      readonly [version: string]: { readonly gitVersion: string };
    };
    assert.equal(serverVersion?.gitVersion, kubernetesVersion);
    assert.equal(clientVersion?.gitVersion, kubernetesVersion);
  });

  test('lets a node create its own Node only, and read only secrets of its pods', async (t) => {
    const namespace = await cluster.namespace(t);
    await cluster.member(t, 'cp-node');
    const secret = await cluster.api.create<Named>(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 'hidden' } });
    const node = cluster.controlPlane.client(cluster.controlPlane.clientCertificate('system:node:cp-node', ['system:nodes']));
    t.after(() => node.close());
    await node.create('/api/v1/nodes', { metadata: { name: 'cp-node' } });
    await assert.rejects(node.create('/api/v1/nodes', { metadata: { name: 'cp-other' } }), { status: 403, reason: 'Forbidden' });
    await assert.rejects(node.get(`/api/v1/namespaces/${namespace}/secrets/${secret.metadata.name}`), {
      status: 403,
      message: /no relationship found/,
    });
    const requests = await waitUntil('the requests are in the audit log', () => {
      const events = cluster.controlPlane.auditEvents('cp-node');
      return events.length >= 3 ? events : null;
    });
    assert.deepEqual(
      requests.map(({ verb, responseStatus }) => `${verb} ${responseStatus?.code}`),
      ['create 201', 'create 403', 'get 403'],
    );
  });

  test('authenticates a service account by its token, and forbids anonymous requests', async (t) => {
    const namespace = await cluster.namespace(t);
    const pod = cluster.controlPlane.client({ token: await cluster.serviceAccountToken(namespace) });
    const stranger = cluster.controlPlane.client('anonymous');
    t.after(async () => {
      await pod.close();
      await stranger.close();
    });
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await pod.create<{ status: { userInfo: { username: string } } }>(
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      review,
    );
    assert.equal(answer.status.userInfo.username, `system:serviceaccount:${namespace}:default`);
    await assert.rejects(stranger.get('/api/v1/pods'), { status: 403 });
  });

  test('calls a kubelet with a certificate that the kubelet can verify and authorize', async (t) => {
    const namespace = await cluster.namespace(t);
    const { nodeName, port } = await cluster.member(t, 'cp-called');
    const calls: string[] = [];
    const { certFile, keyFile } = cluster.controlPlane.kubeletServingCertificate(nodeName);
    const trust = { ca: readFileSync(cluster.controlPlane.caFile), requestCert: true, rejectUnauthorized: true };
    const server = createServer({ ...trust, cert: readFileSync(certFile), key: readFileSync(keyFile) }, (request, response) => {
      calls.push(`${String((request.socket as TLSSocket).getPeerCertificate().subject.CN)} ${request.method} ${request.url}`);
      response.end('a line\n');
    });
    t.after(() => server.close());
    await once(server.listen(port), 'listening');
    await cluster.api.create('/api/v1/nodes', {
      metadata: { name: nodeName },
      status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: port } } },
    });
    const spec = { nodeName, containers: [aBusybox()] };
    await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, { metadata: { name: 'web' }, spec });
    assert.equal(await cluster.kubectl('-n', namespace, 'logs', 'web'), 'a line\n');
    assert.deepEqual(calls, [`kube-apiserver-kubelet-client GET /containerLogs/${namespace}/web/app`]);

    const node = cluster.controlPlane.client(cluster.controlPlane.clientCertificate(`system:node:${nodeName}`, ['system:nodes']));
    t.after(() => node.close());
    const canReadLogs = async (user: string) => {
      const { status } = await node.create<{ status: { allowed: boolean } }>('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
        spec: { user, resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'log', name: nodeName } },
      });
      return status.allowed;
    };
    assert.equal(await canReadLogs('kube-apiserver-kubelet-client'), true);
    assert.equal(await canReadLogs('no-such-user'), false);
    await cluster.kubectl('-n', namespace, 'delete', 'pod', 'web', '--force', '--grace-period=0');
  });

  test('creates the pods of a deployment, and schedules them to a ready node', async (t) => {
    const namespace = await cluster.namespace(t);
    await cluster.kubectl('-n', namespace, 'create', 'deployment', 'web', '--image=local.example/busybox:1', '--replicas=2');
    const pods = await waitUntil('the deployment has its pods', async () => {
      const { items } = await cluster.api.get<List>(`/api/v1/namespaces/${namespace}/pods`);
      return items.length === 2 ? items : null;
    });
    await cluster.api.create('/api/v1/nodes', {
      metadata: { name: 'cp-scheduled' },
      status: {
        capacity: { cpu: '8', memory: '8Gi', pods: '10' },
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
      },
    });
    t.after(async () => {
      await cluster.api.delete('/api/v1/nodes/cp-scheduled');
    });
    // No kubelet renews the lease: the controller keeps the node Ready for 50 s.
    const path = `/api/v1/namespaces/${namespace}/pods/${pods[0]?.metadata.name}`;
    await waitUntil('a pod is scheduled', async () => (await cluster.api.get<{ spec: { nodeName?: string } }>(path)).spec.nodeName, 30_000);
    await cluster.kubectl('-n', namespace, 'delete', 'deployment', 'web', '--wait=false');
  });

  test('sends changes to a watch', async (t) => {
    const namespace = await cluster.namespace(t);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { type, object } of cluster.api.watch<Named>(`/api/v1/namespaces/${namespace}/configmaps`, stop.signal)) {
      if (object.metadata.name === 'kube-root-ca.crt') {
        await cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'mine' } });
        continue;
      }
      seen.push(`${type} ${object.metadata.name}`);
      if (type === 'DELETED') stop.abort();
      else await cluster.api.delete(`/api/v1/namespaces/${namespace}/configmaps/mine`);
    }
    assert.deepEqual(seen, ['ADDED mine', 'DELETED mine']);
  });
});

describe('the fault proxy of the API server', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await sharedCluster();
  });
  after(() => cluster.close());

  test('forwards everything except the requested faults', async (t) => {
    await cluster.member(t, 'cp-faulty');
    const faulty = await FaultyApiServer.start(t, cluster, 'cp-faulty');
    const { caFile } = cluster.controlPlane;
    const node = new ApiClient({ url: faulty.url, caFile });
    t.after(() => node.close());
    const path = '/api/v1/nodes/cp-faulty';
    const isNode: Matches = (method, requested) => method === 'GET' && requested === path;
    await node.create('/api/v1/nodes', { metadata: { name: 'cp-faulty' } });

    const endFault = faulty.fault({ matches: isNode, answer: { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 } });
    await assert.rejects(node.get(path), { status: 429, reason: 'TooManyRequests' });
    endFault();
    faulty.fault({ matches: isNode, cutAfterBytes: 20, times: 1 });
    await assert.rejects(node.get(path));
    assert.equal((await node.get<Named>(path)).metadata.name, 'cp-faulty');
    assert.deepEqual(
      faulty.requests.map(({ method }) => method),
      ['POST', 'GET', 'GET', 'GET'],
    );
  });

  test('can stall or end a watch', async (t) => {
    const { nodeName } = await cluster.member(t, 'cp-silent');
    const faulty = await FaultyApiServer.start(t, cluster, nodeName);
    const node = new ApiClient({ url: faulty.url, caFile: cluster.controlPlane.caFile });
    t.after(() => node.close());
    const label = (value: string) => cluster.api.patch(`/api/v1/nodes/${nodeName}`, { metadata: { labels: { mark: value } } });
    const collection = `/api/v1/nodes?fieldSelector=metadata.name%3D${nodeName}`;
    await node.create('/api/v1/nodes', { metadata: { name: nodeName } });

    const watch = node.watch<Labelled>(collection, AbortSignal.timeout(20_000));
    assert.equal((await watch.next()).value?.type, 'ADDED');
    faulty.silence(isWatch);
    await label('a');
    // Earlier writes of controllers may still arrive, and the server's watch cache may be stale when a watch begins.
    const untilMarked = async (events: typeof watch) => {
      while ((await events.next()).value?.object.metadata.labels?.mark !== 'a');
      return 'marked';
    };
    const silenced = untilMarked(watch);
    const other = node.watch<Labelled>(collection, AbortSignal.timeout(20_000));
    await untilMarked(other);
    assert.equal(await Promise.race([silenced, Promise.resolve('pending')]), 'pending');
    faulty.cut(isWatch);
    await assert.rejects(silenced);
    // Writes of controllers may have arrived before.
    await assert.rejects(async () => {
      while (!(await other.next()).done);
    });
  });
});

test('a private control plane: its API server stops and starts, then etcd is emptied', async (t) => {
  const cluster = await privateCluster(t, { controllerManager: false, scheduler: false });
  const { controlPlane, api } = cluster;
  const uidOf = async (name: string) => (await api.get<Named>(`/api/v1/namespaces/${name}`)).metadata.uid;
  const before = await uidOf('default');
  await controlPlane.stopApiServer(0);
  // The open connection is reset, the next one is refused.
  await assert.rejects(uidOf('default'), { code: /^ECONN(RESET|REFUSED)$/ });
  await assert.rejects(uidOf('default'), { code: 'ECONNREFUSED' });
  await controlPlane.startApiServer();
  assert.equal(await uidOf('default'), before);
  await controlPlane.restartEtcdEmpty();
  assert.notEqual(await uidOf('default'), before);
});
