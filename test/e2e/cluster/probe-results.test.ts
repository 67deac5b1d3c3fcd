/** Probes in a cluster: what the API server, services and users see of their results. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Container, Pod } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { conditionOf, TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { PodWatch } from '../../support/cluster/pod-watch.ts';
import { GrpcTarget, HttpTarget, UnencryptedHttp2Target } from '../../support/kubelet/probe-targets.ts';
import { aBusybox, aManifest } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-probes';
const fast = { periodSeconds: 1, failureThreshold: 1 };

interface EndpointSlices {
  readonly items: readonly { readonly endpoints?: readonly { readonly conditions: { readonly ready?: boolean } }[] | null }[];
}

describe('probes in a cluster', () => {
  let node: TestClusterNode;
  let http: HttpTarget;
  const hooks = new Cleanups();
  before(async () => {
    http = await HttpTarget.start(hooks);
    node = await TestClusterNode.start(nodeName, { config: { featureGates: { GRPCContainerProbeTLS: true, H2CContainerProbe: true } } });
  });
  after(async () => {
    await node?.destroy();
    await hooks.run();
  });

  const app = ({ status }: Pod) => status?.containerStatuses?.[0];
  const isReady = ({ status }: Pod) => conditionOf(status, 'Ready') === 'True';
  const create = (pods: PodWatch, name: string, container: Partial<Container>, metadata: Partial<Pod['metadata']> = {}) =>
    pods.create(aManifest(name, { nodeName, terminationGracePeriodSeconds: 300, containers: [aBusybox(container)] }, metadata));

  /** Returns the name of its mirror pod. */
  const createStaticPod = (name: string, container: Partial<Container>) => {
    node.node.apply(aManifest(name, { containers: [aBusybox(container)] }, { namespace: node.namespace }));
    return `${name}-${nodeName}`;
  };

  describe('while the kubelet runs', { concurrency: 3 }, () => {
    test('HTTP/2 without TLS and gRPC with TLS are probed, also in static pods', async () => {
      const [http2, grpc] = await Promise.all([UnencryptedHttp2Target.start(hooks), GrpcTarget.start(hooks, { isTLS: true })]);
      const container = aBusybox({
        livenessProbe: { httpGet: { port: http2.port, path: '/ok', protocol: 'HTTP2' }, periodSeconds: 1, failureThreshold: 1000 },
        readinessProbe: { grpc: { port: grpc.port, mode: 'TLS' }, ...fast },
        startupProbe: { httpGet: { port: http2.port, protocol: 'HTTP2' }, ...fast, failureThreshold: 1000 },
      });
      const spec = { hostNetwork: true, containers: [container] };
      node.node.apply(aManifest('protocols-static', spec, { namespace: node.namespace }));
      const { spec: created } = await node.create('protocols', spec);
      assert.equal(created.containers[0]?.livenessProbe?.httpGet?.protocol, 'HTTP2', 'the API server has kept the field');
      const names = ['protocols', `protocols-static-${nodeName}`];
      for (const name of names) await node.untilRunning(name);
      http2.status = 503;
      grpc.status = 2;
      for (const name of names) {
        await node.untilEvent(name, 'Unhealthy', /^Liveness probe failed: HTTP probe failed with statuscode: 503$/);
        await node.untilEvent(name, 'Unhealthy', /^Readiness probe failed: service unhealthy \(responded with "NOT_SERVING"\)$/);
        await node.until(name, 'is unready', (pod) => !isReady(pod));
      }
    });

    test('readiness reaches the API server and the endpoints of a service, and an event names the container', async (t) => {
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      await node.api.create(`/api/v1/namespaces/${node.namespace}/services`, {
        metadata: { name: 'web' },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      });
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${node.namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb`;
      const untilEndpoint = (ready: boolean) =>
        waitUntil(
          `the endpoint is ${ready ? 'ready' : 'not ready'}`,
          async () => {
            const { items } = await node.api.get<EndpointSlices>(slices);
            return items.flatMap(({ endpoints }) => endpoints ?? []).some(({ conditions }) => conditions.ready === ready);
          },
          60_000,
        );
      http.statuses.set('/web', 503);
      await create(pods, 'web', { readinessProbe: { ...http.get('/web'), ...fast } }, { labels: { app: 'web' } });
      const unready = await pods.until('web', 'runs', (pod) => app(pod)?.state?.running !== undefined);
      assert.deepEqual([app(unready)?.started, app(unready)?.ready, isReady(unready)], [true, false, false]);
      await untilEndpoint(false);
      const event = await node.untilEvent('web', 'Unhealthy', /^Readiness probe failed: HTTP probe failed with statuscode: 503$/);
      assert.deepEqual([event.type, event.involvedObject.fieldPath], ['Warning', 'spec.containers{app}']);
      http.statuses.delete('/web');
      const ready = await pods.until('web', 'is ready', isReady);
      assert.deepEqual([app(ready)?.ready, conditionOf(ready.status, 'ContainersReady')], [true, 'True']);
      await untilEndpoint(true);

      http.statuses.set('/web', 503);
      const failed = await pods.until('web', 'is not ready', (pod) => !isReady(pod));
      assert.equal(failed.status?.conditions?.find(({ type }) => type === 'Ready')?.message, 'containers with unready status: [app]');
      await untilEndpoint(false);
    });

    test('a terminating pod is probed for readiness only', async (t) => {
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      await create(pods, 'ending', {
        livenessProbe: { ...http.get('/ending-live'), ...fast },
        readinessProbe: { ...http.get('/ending-ready'), ...fast },
        lifecycle: { preStop: { exec: { command: ['sh', '-c', 'until [ -f /tmp/stop ]; do sleep 0.1; done'] } } },
      });
      await pods.until('ending', 'is ready', isReady);
      await pods.delete('ending');
      await node.untilEvent('ending', 'Killing', /^Stopping container app$/);
      const deleted = pods.get('ending')!;
      assert.deepEqual([isReady(deleted), deleted.metadata.deletionTimestamp !== undefined], [true, true]);
      http.statuses.set('/ending-ready', 500);
      http.statuses.set('/ending-live', 500);
      const unready = await pods.until('ending', 'is not ready', (pod) => !isReady(pod));
      assert.notEqual(app(unready)?.state?.running, undefined);
      http.statuses.delete('/ending-ready');
      await pods.until('ending', 'is ready again', isReady);
      const [live, ready] = [http.countOf('/ending-live'), http.countOf('/ending-ready')];
      await waitUntil('readiness is probed', () => http.countOf('/ending-ready') > ready + 1);
      assert.equal(http.countOf('/ending-live'), live);
      await node.exec('ending', 'touch /tmp/stop');
      await pods.untilGone('ending');
      assert.equal(app(pods.seen('ending').at(-1)!)?.ready, false);
    });

    test('a failed liveness probe restarts the container, with upstream’s events', async (t) => {
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      http.statuses.set('/live', 500);
      await create(pods, 'live', { livenessProbe: { ...http.get('/live'), ...fast } });
      await node.untilEvent('live', 'Killing', /^Container app failed liveness probe, will be restarted$/);
      await node.untilEvent('live', 'Unhealthy', /^Liveness probe failed: HTTP probe failed with statuscode: 500$/);
      http.statuses.delete('/live');
      await pods.until('live', 'has restarted', (pod) => (app(pod)?.restartCount ?? 0) > 0 && isReady(pod));
    });
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`ready pods stay ready while the kubelet restarts after ${signal}`, async (t) => {
      const pods = await PodWatch.start(t, node.cluster, node.namespace);
      const suffix = signal.toLowerCase();
      const names = [`stays-${suffix}`, `slow-${suffix}`];
      const path = `/${suffix}`;
      await create(pods, names[0]!, {
        startupProbe: { ...http.get(path), ...fast },
        readinessProbe: { ...http.get(path), ...fast },
        livenessProbe: { ...http.get(`${path}-live`), ...fast },
      });
      // The next run of this probe is minutes away.
      await create(pods, names[1]!, { readinessProbe: { ...http.get(`${path}-slow`), periodSeconds: 300, failureThreshold: 1 } });
      names.push(
        createStaticPod(`static-${suffix}`, {
          readinessProbe: { ...http.get(path), ...fast },
          startupProbe: { ...http.get(path), ...fast },
        }),
      );
      for (const name of names) await pods.until(name, 'is ready', isReady);
      const slow = { startupProbe: { ...http.get(path), ...fast }, readinessProbe: { ...http.get(`${path}-slow`), periodSeconds: 300 } };
      names.push(createStaticPod(`static-slow-${suffix}`, slow));
      await pods.until(names.at(-1)!, 'is ready', isReady);
      const before = names.map((name) => pods.seen(name).length);
      await node.restartKubelet(signal);
      const [startups, lives] = [http.countOf(path), http.countOf(`${path}-live`)];
      await waitUntil(
        'the new kubelet probes',
        () => http.countOf(path) > startups + 2 && http.countOf(`${path}-live`) > lives + 2,
        60_000,
      );
      await node.untilReady();
      for (const [index, name] of names.entries()) {
        const seen = pods.seen(name).slice(before[index]);
        assert.ok(
          seen.every((pod) => isReady(pod) && app(pod)?.started === true),
          JSON.stringify(seen.map(({ status }) => status)),
        );
        assert.equal(app(pods.get(name)!)?.restartCount, 0);
      }
      // What fails after the restart is reported.
      http.statuses.set(path, 500);
      await pods.until(names[0]!, 'is not ready', (pod) => !isReady(pod));
      for (const name of ['static', 'static-slow']) node.node.delete(`${name}-${suffix}`);
      for (const name of names.slice(0, 2)) await pods.delete(name, { gracePeriodSeconds: 1 });
    });
  }
});
