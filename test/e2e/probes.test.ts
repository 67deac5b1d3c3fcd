/** Liveness, readiness and startup probes of every kind on a real containerd. The targets of most probes are servers of this test. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Container, ContainerStatus, Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { GrpcTarget, HttpsTargets, HttpTarget, TcpTarget } from '../support/kubelet/probe-targets.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { kubernetesMinor } from '../../src/shared/kubernetes/version.ts';

const fast = { periodSeconds: 1, failureThreshold: 1 };
const sleepForever = 'while :; do sleep 1000 & wait $!; done';

describe('probes', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  let out: string;
  let http: HttpTarget;
  let tcp: TcpTarget;
  let grpc: GrpcTarget;
  before(async () => {
    node = await TestNode.start(null);
    hooks.after(() => node.destroy());
    out = join(node.folder, 'out');
    mkdirSync(out);
    [http, tcp, grpc] = await Promise.all([HttpTarget.start(hooks), TcpTarget.start(hooks), GrpcTarget.start(hooks)]);
    await node.startKubelet();
  });
  after(() => hooks.run());

  /** A pod whose containers mount the host folder `out` at /out. */
  const apply = (name: string, container: Partial<Container> & { readonly sh?: string }, spec: Partial<PodSpec> = {}) => {
    const mounted = (one: Container) => ({ ...one, volumeMounts: [{ name: 'out', mountPath: '/out' }] });
    const containers = [aBusybox(container)].map(mounted);
    const initContainers = (spec.initContainers ?? []).map(mounted);
    const volumes = [{ name: 'out', hostPath: { path: out } }];
    node.apply(aManifest(name, { ...spec, containers, volumes, ...(initContainers.length > 0 && { initContainers }) }));
  };
  const app = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0];
  /** The events of a standalone kubelet are in its log. A message may have several lines. */
  const eventsOf = (name: string) =>
    node
      .log()
      .split('"Event occurred"')
      .filter((event) => event.includes(`object="default/${name}-test-node"`));
  const untilEvent = (name: string, reason: string, message: string) =>
    waitUntil(
      () => `${name} has the event ${reason}: ${message}; it has ${eventsOf(name).join('')}`,
      () => eventsOf(name).some((event) => event.includes(`reason="${reason}"`) && event.includes(message)),
      30_000,
    );
  const untilRestarted = (name: string) =>
    node.until(name, 'has restarted and is ready', (pod) => app(pod)?.restartCount === 1 && app(pod)?.ready === true);

  describe('while the kubelet runs', { concurrency: 4 }, () => {
    test('a failed liveness probe of each kind restarts the container', async () => {
      const file = join(out, 'alive');
      writeFileSync(file, '');
      const kinds = [
        {
          name: 'live-http',
          probe: http.get('/live'),
          fail: () => http.statuses.set('/live', 500),
          repair: () => http.statuses.delete('/live'),
          message: 'Liveness probe failed: HTTP probe failed with statuscode: 500',
        },
        {
          name: 'live-tcp',
          probe: { tcpSocket: { host: '127.0.0.1', port: tcp.port } },
          fail: () => tcp.close(),
          repair: () => tcp.open(),
          message: `Liveness probe failed: dial tcp 127.0.0.1:${tcp.port}: connect: connection refused`,
        },
        {
          name: 'live-grpc',
          spec: { hostNetwork: true },
          probe: { grpc: { port: grpc.port } },
          fail: () => (grpc.status = 2),
          repair: () => (grpc.status = 1),
          message: 'Liveness probe failed: service unhealthy (responded with',
        },
        {
          name: 'live-exec',
          probe: { exec: { command: ['cat', '$(FILE)'] } },
          fail: () => rmSync(file),
          repair: () => writeFileSync(file, ''),
          message: 'Liveness probe failed: cat: can',
        },
      ];
      for (const { name, probe, spec } of kinds) {
        apply(name, { livenessProbe: { ...probe, ...fast }, env: [{ name: 'FILE', value: '/out/alive' }] }, spec);
      }
      await Promise.all(
        kinds.map(async ({ name, fail, repair, message }) => {
          await node.untilRunning(name);
          await fail();
          await untilEvent(name, 'Unhealthy', message);
          await untilEvent(name, 'Killing', 'Container app failed liveness probe, will be restarted');
          await repair();
          const restarted = await untilRestarted(name);
          assert.equal(app(restarted)?.lastState?.terminated?.exitCode, 0, name);
        }),
      );
    });

    test('under restartPolicy Never a failed liveness probe ends the pod', async () => {
      http.statuses.set('/never', 503);
      apply(
        'never',
        { sh: `trap 'exit 7' TERM; ${sleepForever}`, livenessProbe: { ...http.get('/never'), ...fast } },
        { restartPolicy: 'Never' },
      );
      const ended = await node.until('never', 'has ended', ({ status }) => status?.phase === 'Failed');
      assert.deepEqual([app(ended)?.state?.terminated?.exitCode, app(ended)?.restartCount], [7, 0]);
    });

    test('a startup probe delays the other probes and readiness, and its failure restarts the container', async () => {
      http.statuses.set('/startup', 503);
      apply('startup', {
        startupProbe: { ...http.get('/startup'), periodSeconds: 1, failureThreshold: 3 },
        livenessProbe: { ...http.get('/startup-live'), ...fast },
        readinessProbe: { ...http.get('/startup-ready'), ...fast },
      });
      const running = await node.until('startup', 'runs', (pod) => app(pod)?.state?.running !== undefined);
      assert.deepEqual([app(running)?.started, app(running)?.ready], [false, false]);
      await untilEvent('startup', 'Unhealthy', 'Startup probe failed: HTTP probe failed with statuscode: 503');
      await untilEvent('startup', 'Killing', 'Container app failed startup probe, will be restarted');
      assert.deepEqual([http.countOf('/startup-live'), http.countOf('/startup-ready')], [0, 0]);
      http.statuses.delete('/startup');
      const started = await untilRestarted('startup');
      assert.equal(app(started)?.started, true);
      await waitUntil('the liveness probe runs', () => http.countOf('/startup-live') > 0);
      const count = http.countOf('/startup');
      await waitUntil('the liveness probe runs again', () => http.countOf('/startup-live') > 2);
      assert.equal(http.countOf('/startup'), count, 'a startup probe that has succeeded runs no more');
    });

    test('a probe honours its initial delay and its success threshold', async () => {
      http.statuses.set('/patient', 503);
      apply('patient', { readinessProbe: { ...http.get('/patient'), ...fast, initialDelaySeconds: 3, successThreshold: 3 } });
      await waitUntil('the container is probed', () => http.countOf('/patient') > 0, 30_000);
      const pod = await node.until('patient', 'runs', (one) => app(one)?.state?.running !== undefined);
      const startedAtMs = Date.parse(app(pod)?.state?.running?.startedAt ?? '');
      const delayMs = http.requests.find(({ path }) => path === '/patient')!.atMs - startedAtMs;
      assert.ok(delayMs >= 3000, `the first probe ran after ${delayMs} ms`);
      const failures = http.countOf('/patient');
      http.statuses.delete('/patient');
      await node.untilRunning('patient');
      assert.ok(http.countOf('/patient') - failures >= 3);
    });

    test('a container is neither ready nor probed while its postStart hook runs', async () => {
      const command = ['sh', '-c', 'until [ -f /out/hook ]; do sleep 0.1; done'];
      apply('hooked', {
        lifecycle: { postStart: { exec: { command } } },
        livenessProbe: { ...http.get('/hooked'), ...fast },
        readinessProbe: { ...http.get('/hooked'), ...fast },
      });
      const starting = await node.until('hooked', 'runs', (pod) => app(pod)?.state?.running !== undefined);
      assert.deepEqual([app(starting)?.started, app(starting)?.ready], [false, false]);
      const startedAtMs = Date.parse(app(starting)?.state?.running?.startedAt ?? '');
      // Without the hook both probes would have run by now.
      await waitUntil('two periods are over', () => Date.now() > startedAtMs + 3000);
      assert.equal(http.countOf('/hooked'), 0);
      writeFileSync(join(out, 'hook'), '');
      const { status } = await node.untilRunning('hooked');
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
    });

    test('the startup probe of a sidecar delays the next init container', async () => {
      http.statuses.set('/sidecar', 503);
      const initContainers = [
        {
          ...aBusybox(),
          name: 'sidecar',
          restartPolicy: 'Always',
          startupProbe: { ...http.get('/sidecar'), periodSeconds: 1, failureThreshold: 1000 },
        },
        { ...aBusybox({ sh: 'echo ran' }), name: 'next' },
      ];
      apply('sidecar', {}, { initContainers });
      await waitUntil('the sidecar is probed', () => http.countOf('/sidecar') > 1, 30_000);
      const before = await node.until('sidecar', 'is known', () => true);
      const [sidecar, next] = before.status?.initContainerStatuses ?? [];
      assert.deepEqual([sidecar?.started, next?.state?.waiting?.reason], [false, 'PodInitializing']);
      http.statuses.delete('/sidecar');
      const { status } = await node.untilRunning('sidecar');
      assert.equal(status?.initContainerStatuses?.[0]?.started, true);
      assert.equal(status?.initContainerStatuses?.[1]?.state?.terminated?.exitCode, 0);
    });

    test('the grace period of a probe replaces the pod’s', async () => {
      http.statuses.set('/grace', 500);
      const livenessProbe = { ...http.get('/grace'), ...fast, terminationGracePeriodSeconds: 1 };
      apply('grace', { sh: `trap '' TERM; ${sleepForever}`, livenessProbe }, { terminationGracePeriodSeconds: 600 });
      await untilEvent('grace', 'Killing', 'Container app failed liveness probe, will be restarted');
      http.statuses.delete('/grace');
      // The pod's own grace period is ten minutes.
      const restarted = await node.until('grace', 'has restarted', (pod) => app(pod)?.restartCount === 1, 60_000);
      assert.equal(app(restarted)?.lastState?.terminated?.exitCode, 137);
      http.statuses.set('/grace', 500);
      node.delete('grace');
    });

    test('an HTTP probe reaches the pod by a named port, and sends its headers', async () => {
      const httpGet = {
        host: '127.0.0.1',
        port: http.port,
        path: '/headers?by=probe',
        httpHeaders: [
          { name: 'X-Probe', value: 'one' },
          { name: 'Host', value: 'named.test' },
        ],
      };
      apply('named', {
        sh: `mkdir /www; httpd -p 8080 -h /www; trap 'exit 0' TERM; while :; do if [ -f /out/page ]; then cp /out/page /www/page; fi; sleep 0.1; done`,
        ports: [{ name: 'web', containerPort: 8080 }],
        readinessProbe: { httpGet: { port: 'web', path: 'page' }, ...fast },
        livenessProbe: { httpGet, ...fast },
      });
      await untilEvent('named', 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 404');
      const unready = await node.until('named', 'runs', (pod) => app(pod)?.state?.running !== undefined);
      assert.deepEqual([app(unready)?.started, app(unready)?.ready], [true, false]);
      writeFileSync(join(out, 'page'), 'page');
      await node.untilRunning('named');
      const request = http.requests.find(({ path }) => path === '/headers?by=probe');
      const { host, accept, 'user-agent': agent, 'x-probe': own } = request?.headers ?? {};
      assert.deepEqual([own, host, agent, accept], ['one', 'named.test', `kube-probe/${kubernetesMinor}`, '*/*']);
    });

    test('HTTPS probes use the version of HTTP that the server speaks, and verify no certificate', async () => {
      const https = await HttpsTargets.start(hooks);
      const versions = Object.entries(https.ports).map(([version, port]) => ({ name: `tls-${version}`, port }));
      for (const { name, port } of versions) {
        const httpGet = { scheme: 'HTTPS', host: '127.0.0.1', port, path: `/${name}` };
        apply(name, { readinessProbe: { httpGet, ...fast } });
      }
      for (const { name } of versions) {
        await node.untilRunning(name);
        https.statuses.set(`/${name}`, 503);
        await untilEvent(name, 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 503');
      }
      assert.deepEqual([...https.versions.get('/tls-http1')!, ...https.versions.get('/tls-http2')!], ['1.1', '2.0']);
    });

    test('an exec probe that takes too long fails; an unknown port is reported', async () => {
      apply('slow', { readinessProbe: { exec: { command: ['sleep', '1000'] }, timeoutSeconds: 1, ...fast } });
      const ports = [{ name: 'other', containerPort: 80 }];
      apply('portless', { ports, readinessProbe: { tcpSocket: { port: 'none' }, ...fast } });
      apply('pathless', { ports, readinessProbe: { httpGet: { port: 'none' }, ...fast } });
      await untilEvent('slow', 'Unhealthy', 'Readiness probe failed: command timed out: \\\"sleep 1000\\\" timed out after 1s');
      for (const name of ['portless', 'pathless'])
        await untilEvent(name, 'Unhealthy', 'Readiness probe errored and resulted in unknown state: port \\\"none\\\" not found"');
      for (const name of ['slow', 'portless', 'pathless']) {
        const pod = await node.until(name, 'runs', (one) => app(one)?.state?.running !== undefined);
        assert.equal(app(pod)?.ready, false, name);
      }
    });

    test('/metrics/probes has the probes of each pod until it ends', async () => {
      apply('counted', { readinessProbe: { ...http.get('/counted'), ...fast }, livenessProbe: { ...http.get('/counted'), ...fast } });
      const uid = (await node.untilRunning('counted')).metadata.uid;
      const page = async () => (await node.get('/metrics/probes')).text();
      const labels = `container="app",namespace="default",pod="counted-test-node"`;
      const liveness = `prober_probe_total{${labels},pod_uid="${uid}",probe_type="Liveness",result="successful"} `;
      await waitUntil('both probes are counted', async () => (await page()).includes(liveness), 30_000);
      const text = await page();
      for (const line of [
        `# TYPE prober_probe_total counter`,
        `prober_probe_total{${labels},pod_uid="${uid}",probe_type="Readiness",result="successful"} `,
        `prober_probe_duration_seconds_count{${labels},probe_type="Readiness"} `,
        'process_start_time_seconds ',
      ])
        assert.ok(text.includes(line), `${line} is not in\n${text}`);
      node.delete('counted');
      await node.untilGone('counted');
      await waitUntil('the series are gone', async () => !(await page()).includes('counted'), 30_000);
    });
  });

  test('a kubelet that could not run for some seconds fails no probe', async () => {
    apply('stopped', { livenessProbe: { ...http.get('/stopped'), ...fast }, readinessProbe: { ...http.get('/stopped'), ...fast } });
    await node.untilRunning('stopped');
    for (let round = 0; round < 3; round += 1) {
      const seen = http.countOf('/stopped');
      await waitUntil('a probe begins', () => http.countOf('/stopped') > seen, 10_000);
      process.kill(node.kubeletPid, 'SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 2000));
      process.kill(node.kubeletPid, 'SIGCONT');
    }
    const seen = http.countOf('/stopped');
    await waitUntil('probes continue', () => http.countOf('/stopped') > seen + 4, 20_000);
    const pod = await node.untilRunning('stopped');
    assert.deepEqual(
      [app(pod)?.restartCount, app(pod)?.ready, eventsOf('stopped').filter((event) => event.includes('Unhealthy'))],
      [0, true, []],
    );
  });
});
