/** Traces: spans of syncs and calls reach a collector over OTLP, and a collector that is gone or hangs costs pods nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { reservePort } from '../../lab/host/reserve-ports.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { OtlpCollector, type ReceivedSpan } from '../support/tracing/otlp-collector.ts';

/** Longer than a batch waits. */
const batchMs = 7000;
const [internal, server, client] = [1, 2, 3];

async function startNode(t: TestContext, tracing: object, config: object = {}): Promise<TestNode> {
  const node = await TestNode.start(t, { config: { tracing, ...config } });
  await node.startKubelet();
  return node;
}
const endpointOf = ({ port }: { readonly port: number }) => `127.0.0.1:${port}`;

test('the spans of a pod’s syncs arrive at the collector, with the calls to the runtime below them', async (t) => {
  const collector = await OtlpCollector.start(t);
  const port = await reservePort();
  const node = await startNode(
    t,
    { endpoint: endpointOf(collector), samplingRatePerMillion: 1_000_000 },
    {
      port,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
    },
  );
  const spans = (name: string) => collector.spans.filter((span) => span.name === name);
  const syncs = (name: string, podUID: string) => spans(name).filter(({ attributes }) => attributes['k8s.pod.uid'] === podUID);
  const arrived = (what: string, find: () => ReceivedSpan | undefined) => waitUntil(`${what} has arrived`, find, 30_000);
  /** The call whose parent is one of these spans. */
  const callBelow = (parents: readonly ReceivedSpan[], method: string) =>
    spans(method).find(({ parentId, traceId }) => parents.some((parent) => parent.spanId === parentId && parent.traceId === traceId));

  node.apply(aManifest('web'));
  const { metadata } = await node.untilRunning('web');
  const created = await arrived('the span of the first sync', () =>
    syncs('syncPod', metadata.uid).find(({ attributes }) => attributes['k8s.pod.update_type'] === 'create'),
  );
  assert.deepEqual(created.attributes, {
    'k8s.pod.uid': metadata.uid,
    'k8s.pod': 'default/web-test-node',
    'k8s.pod.name': 'web-test-node',
    'k8s.namespace.name': 'default',
    'k8s.pod.update_type': 'create',
  });
  assert.deepEqual([created.parentId, created.kind, created.scope], ['', internal, 'k8s.io/kubernetes/pkg/kubelet']);
  assert.deepEqual(created.resource, { 'service.name': 'kubelet', 'host.name': 'test-node' });

  // The pool's threads make the first three calls, the images thread the last.
  for (const method of [
    'RuntimeService/RunPodSandbox',
    'RuntimeService/CreateContainer',
    'RuntimeService/StartContainer',
    'ImageService/ImageStatus',
  ]) {
    const name = `runtime.v1.${method}`;
    const call = await arrived(`${name} below the sync`, () => callBelow(syncs('syncPod', metadata.uid), name));
    assert.deepEqual(call.attributes, {
      'rpc.method': name,
      'rpc.system.name': 'grpc',
      'server.address': node.containerd.endpoint.replace('unix://', ''),
      'rpc.response.status_code': 'OK',
    });
    assert.deepEqual([call.kind, call.events, call.resource], [client, [], created.resource]);
  }
  const relist = await arrived('a relist', () => spans('runtime.v1.RuntimeService/ListContainers')[0]);
  assert.equal(relist.parentId, '');

  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await (await fetch(`https://127.0.0.1:${port}/pods`, { headers: { traceparent, 'x-forwarded-for': '192.0.2.9, 127.0.0.1' } })).text();
  const request = await arrived('the span of a request', () => spans('/pods/')[0]);
  assert.deepEqual([request.kind, request.parentId, request.attributes['http.response.status_code']], [server, '', 200]);
  assert.deepEqual([request.attributes['http.route'], request.attributes['client.address']], ['/pods/', '192.0.2.9']);
  assert.notEqual(request.traceId, 'a'.repeat(32));

  node.apply(aManifest('broken', { containers: [aBusybox({ image: 'local.example/nothing:1', imagePullPolicy: 'Never' })] }));
  const failed = await arrived('the span of a failed sync', () => spans('syncPod').find(({ status }) => status === 2));
  assert.deepEqual([failed.attributes['k8s.pod.name'], failed.events], ['broken-test-node', ['exception']]);

  node.delete('web');
  await node.untilGone('web');
  await arrived('the stop of the sandbox', () =>
    callBelow(syncs('syncTerminatingPod', metadata.uid), 'runtime.v1.RuntimeService/StopPodSandbox'),
  );
  await arrived('the span of the clean-up', () => syncs('syncTerminatedPod', metadata.uid)[0]);
});

test('no span is sent with a sampling rate of 0', async (t) => {
  const collector = await OtlpCollector.start(t);
  const node = await startNode(t, { endpoint: endpointOf(collector) });
  node.apply(aManifest('web'));
  await node.untilRunning('web');
  await sleep(batchMs);
  assert.deepEqual(collector.spans, []);
});

test('a collector that hangs delays no pod, is reported once, and gets spans when it answers again', async (t) => {
  const hanging = createServer((socket) => void socket.on('error', () => {}).resume());
  const sockets = new Set<{ destroy(): void }>();
  hanging.on('connection', (socket) => sockets.add(socket));
  await once(hanging.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    hanging.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(close);
  const { port } = hanging.address() as { port: number };
  const node = await startNode(t, { endpoint: endpointOf({ port }), samplingRatePerMillion: 1_000_000 });
  for (const name of ['a', 'b', 'c']) node.apply(aManifest(name));
  for (const name of ['a', 'b', 'c']) await node.untilRunning(name);
  const reported = () => node.log().match(/Could not send spans to the collector/g)?.length ?? 0;
  await waitUntil('the failure is reported', () => reported() > 0, 60_000);
  close();
  const collector = await OtlpCollector.start(t, port);
  await waitUntil('spans arrive again', () => collector.spans.some(({ name }) => name.startsWith('runtime.v1.')), 90_000);
  // Once per thread that has spans: a thread that has failed does not repeat itself.
  assert.ok(reported() <= 8, `reported ${reported()} times`);
  node.delete('a');
  await node.untilGone('a');
  assert.equal((await node.healthz()).status, 200);
});
