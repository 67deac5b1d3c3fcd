/** Requests to the API server have spans, whose context the API server gets; the collector listens on a unix socket. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isWatch } from '../../support/api-server/api-server-faults.ts';
import { sharedCluster } from '../../support/cluster/control-plane.ts';
import { startFaultyNode } from '../../support/cluster/faulty-node.ts';
import { isRunning } from '../../support/cluster/pod-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { OtlpCollector, type ReceivedSpan } from '../../support/tracing/otlp-collector.ts';

const timeoutMs = 90_000;
const client = 3;
const failed = 2;
const scope = 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp';

test('each request to the API server has a span and carries its context, also a watch and a request that fails', async (t) => {
  const cluster = await sharedCluster();
  t.after(() => cluster.close());
  const folder = mkdtempSync(join(tmpdir(), 'collector-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const collector = await OtlpCollector.startOnSocket(t, join(folder, 'otlp.sock'));
  const config = {
    tracing: { endpoint: `unix://${folder}/otlp.sock`, samplingRatePerMillion: 1_000_000 },
    // Images are collected, but none is too old.
    imageMaximumGCAge: '10000h',
  };
  const faulty = await startFaultyNode(t, cluster, 'traced', { config });
  const { proxy, pods } = faulty;
  const arrived = (what: string, condition: (span: ReceivedSpan) => boolean) =>
    waitUntil(`${what} has arrived`, () => collector.spans.find(condition), timeoutMs);
  const isOf = (method: string, path: string) => (span: ReceivedSpan) =>
    span.name === `HTTP ${method}` && String(span.attributes['url.full']).startsWith(`${proxy.url}${path}`);

  await faulty.create('web');
  await pods.until('web', 'runs', isRunning);
  const statusPath = `/api/v1/namespaces/${faulty.namespace}/pods/web/status`;
  const patch = await arrived('the span of a status', isOf('PATCH', statusPath));
  const { port } = new URL(proxy.url);
  assert.deepEqual(patch.attributes, {
    'http.request.method': 'PATCH',
    'url.full': `${proxy.url}${statusPath}`,
    'server.address': '127.0.0.1',
    'server.port': Number(port),
    'http.response.status_code': 200,
  });
  assert.deepEqual([patch.kind, patch.scope, patch.status, patch.parentId], [client, scope, 0, '']);
  const sent = proxy.requests.find(({ traceparent }) => traceparent === `00-${patch.traceId}-${patch.spanId}-01`);
  assert.deepEqual([sent?.method, sent?.path], ['PATCH', statusPath]);

  // The span of a watch ends with the watch.
  proxy.cut(isWatch);
  const watch = await arrived('the span of a watch', ({ attributes }) => /[?&]watch=true/.test(String(attributes['url.full'])));
  assert.deepEqual([watch.name, watch.attributes['http.response.status_code']], ['HTTP GET', 200]);

  const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/traced';
  const isLease = (_: string, path: string) => path.startsWith(leasePath);
  proxy.fault({ matches: isLease, answer: { status: 500, reason: 'InternalError' }, times: 1 });
  const refused = await arrived('the span of an error', (span) => span.attributes['error.type'] === '500');
  assert.deepEqual([refused.status, refused.attributes['http.response.status_code']], [failed, 500]);
  proxy.fault({ matches: isLease, reset: true, times: 1 });
  const lost = await arrived(
    'the span of a lost request',
    (span) => span.scope === scope && span.status === failed && !('http.response.status_code' in span.attributes),
  );
  assert.notEqual(lost.attributes['error.type'], '');

  for (const [name, of] of [
    ['Images/GarbageCollect', 'images'],
    ['Containers/GarbageCollect', 'kuberuntime'],
  ]) {
    const collection = await arrived(`the span ${name}`, (span) => span.name === name);
    assert.deepEqual([collection.scope, collection.parentId], [`k8s.io/kubernetes/pkg/kubelet/${of}`, '']);
  }
});
