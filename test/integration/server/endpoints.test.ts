import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { request as httpsRequest } from 'node:https';
import { decodeMetrics } from '../../support/prometheus-protobuf.ts';
import { aSecureServer } from '../../support/server/secure-server.ts';
import { secureSettings } from '../../support/server/server.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

const t = { after };
const { handlers } = secureSettings('');

const answers: { ask: [method: string, path: string]; want: [status: number, body: RegExp] }[] = [
  { ask: ['GET', '/healthz'], want: [200, /^ok$/] },
  { ask: ['GET', '/healthz/ping'], want: [200, /^ok$/] },
  { ask: ['GET', '/pods'], want: [200, /PodList/] },
  { ask: ['GET', '/pods/'], want: [200, /PodList/] },
  { ask: ['POST', '/pods'], want: [405, /^405: Method Not Allowed$/] },
  { ask: ['GET', '/pods/one'], want: [404, /^404: Page Not Found$/] },
  { ask: ['GET', '/allocatedPods'], want: [200, /PodList/] },
  { ask: ['GET', '/allocatedPods/ns/web'], want: [200, /^\{"kind":"Pod"\}$/] },
  { ask: ['GET', '/allocatedPods/ns/web/u'], want: [200, /^\{"kind":"Pod"\}$/] },
  { ask: ['GET', '/allocatedPods/ns/web/other'], want: [404, /^pod not found$/] },
  { ask: ['POST', '/allocatedPods/ns/web'], want: [405, /^405: Method Not Allowed$/] },
  { ask: ['GET', '/allocatedPods/ns'], want: [404, /^404: Page Not Found$/] },
  { ask: ['GET', '/runningpods/'], want: [200, /PodList/] },
  { ask: ['GET', '/runningpods'], want: [307, /href="\/runningpods\/"/] },
  { ask: ['GET', '/debug/image-gc'], want: [200, /^\{"images":\[\]\}$/] },
  { ask: ['POST', '/debug/image-gc'], want: [405, /^405: Method Not Allowed$/] },
  { ask: ['GET', '/debug/eviction'], want: [200, /^\{"ranking":\{"signal":null\}\}$/] },
  { ask: ['GET', '/debug/eviction?signal=pid.available'], want: [200, /^\{"ranking":\{"signal":"pid\.available"\}\}$/] },
  { ask: ['GET', '/debug/eviction?signal=cpu'], want: [400, /^signal must be an eviction signal, such as memory\.available\n$/] },
  { ask: ['POST', '/debug/eviction'], want: [405, /^405: Method Not Allowed$/] },
  { ask: ['GET', '/configz'], want: [200, /^\{"kubeletconfig":\{\}\}$/] },
  {
    ask: ['GET', '/metrics'],
    want: [200, /kubelet_http_requests_total\{long_running="false",method="GET",path="pods",server_type="readwrite"\} 3\n/],
  },
  { ask: ['GET', '/metrics/slis'], want: [200, /kubernetes_healthchecks_total\{name="ping",status="success",type="healthz"\} 2\n/] },
  { ask: ['DELETE', '/metrics/slis'], want: [200, /^metrics reset\n$/] },
  {
    ask: ['GET', '/metrics/slis'],
    want: [200, /^(?![^]*kubernetes_healthcheck\{)[^]*kubernetes_healthchecks_total\{name="ping",status="success",type="healthz"\} 0\n/],
  },
  { ask: ['GET', '/metrics/cadvisor'], want: [200, /^# HELP container_scrape_error .*\n.*\ncontainer_scrape_error 1\n/] },
  { ask: ['GET', '/metrics/resource'], want: [200, /\nresource_scrape_error 1\n/] },
  { ask: ['GET', '/stats/summary'], want: [500, /^Internal Error: failed to get root cgroup stats/] },
  { ask: ['GET', '/stats'], want: [404, /^404: Page Not Found$/] },
  {
    ask: ['GET', '/statusz'],
    want: [200, new RegExp(`kubelet statusz\\n[^]*Binary version: ${kubernetesVersion.slice(1)}\\n[^]*Paths: .*/exec .*/pods `)],
  },
  { ask: ['GET', '/flagz'], want: [200, /kubelet flagz\n[^]*\nv=2\n/] },
  { ask: ['GET', '/run/ns/pod/app'], want: [405, /Method Not Allowed/] },
  { ask: ['POST', '/run/ns/pod'], want: [404, /Page Not Found/] },
  { ask: ['POST', '/run/ns/pod/app?cmd=id'], want: [404, /^pod does not exist$/] },
  { ask: ['PUT', '/exec/ns/pod/app'], want: [405, /Method Not Allowed/] },
  { ask: ['GET', '/containerLogs/ns/pod/app'], want: [404, /pod does not exist/] },
  { ask: ['POST', '/checkpoint/ns/pod/app'], want: [404, /pod does not exist/] },
  { ask: ['PUT', '/debug/flags/v'], want: [405, /^flags endpoint is disabled\.\n$/] },
  { ask: ['GET', '/debug/pprof/'], want: [200, /profile\?seconds=30/] },
  { ask: ['GET', '/debug/timeline'], want: [200, /^\{"pods":\[\],"total":0\}$/] },
  { ask: ['GET', '/debug/timeline?pod=default/web'], want: [404, /^this kubelet has no timeline of pod default\/web\n$/] },
  { ask: ['GET', '/debug/timeline?pod=web'], want: [400, /^pod must be <namespace>\/<name>\n$/] },
  { ask: ['GET', '/debug/timeline?limit=501'], want: [400, /^limit must be a number from 1 to 500\n$/] },
  { ask: ['POST', '/debug/timeline'], want: [405, /^405: Method Not Allowed$/] },
  { ask: ['GET', '/debug/pprof/goroutine'], want: [404, /^Unknown profile\n$/] },
  { ask: ['GET', '/debug/pprof/profile?seconds=-1'], want: [400, /seconds/] },
  { ask: ['GET', '/nothing'], want: [404, /^404 page not found\n$/] },
  { ask: ['GET', '//pods'], want: [307, /href="\/pods"/] },
];
test('the response of every endpoint', async (context) => {
  const { ask } = await aSecureServer(t);
  for (const {
    ask: [method, path],
    want,
  } of answers) {
    await context.test(`${method} ${path} is ${want[0]}`, async () => {
      const { status, body } = await ask(path, { method });
      assert.equal(status, want[0], body);
      assert.match(body, want[1]);
    });
  }
});

test('the pages of metrics are protobuf for a client that prefers it, compressed, and native with the gate', async () => {
  const accept = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';
  const get = async (port: number, path: string) => {
    const url = { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false } as const;
    const request = httpsRequest({ ...url, headers: { accept, 'accept-encoding': 'gzip' } });
    const [response] = (await once(request.end(), 'response')) as [IncomingMessage];
    const metrics = decodeMetrics(gunzipSync(Buffer.concat(await response.toArray())));
    return { metrics, type: response.headers['content-type'] };
  };
  const { port } = await aSecureServer(t);
  for (const [path, name] of [
    ['/metrics', 'process_start_time_seconds'],
    ['/metrics/slis', 'process_start_time_seconds'],
    ['/metrics/probes', 'process_start_time_seconds'],
    ['/metrics/resource', 'resource_scrape_error'],
    ['/metrics/cadvisor', 'container_scrape_error'],
  ] as const) {
    const { metrics, type } = await get(port, path);
    assert.match(type!, /^application\/vnd\.google\.protobuf; /);
    assert.ok(metrics.get(name)!.samples[0]!.value > 0, path);
  }
  const durations = async (of: number) => (await get(of, '/metrics')).metrics.get('kubelet_http_requests_duration_seconds')!.samples;
  assert.ok((await durations(port)).every(({ native, count }) => native && count! > 0 && native.schema === 3));
  const { port: classicPort } = await aSecureServer(t, { settings: { nativeHistograms: false } });
  await get(classicPort, '/metrics');
  assert.ok((await durations(classicPort)).every(({ native }) => native === undefined));
});

test('statusz and flagz are API objects for a matching Accept header', async () => {
  const { ask } = await aSecureServer(t);
  const accept = (version: string, as: string) => ({ headers: { Accept: `application/json;v=${version};g=config.k8s.io;as=${as}` } });
  const statusz = JSON.parse((await ask('/statusz', accept('v1beta1', 'Statusz'))).body) as {
    kind: string;
    paths: string[];
    uptimeSeconds: number;
  };
  assert.deepEqual([statusz.kind, statusz.paths.includes('/pods'), statusz.uptimeSeconds >= 0], ['Statusz', true, true]);
  const old = await ask('/flagz', accept('v1alpha1', 'Flagz'));
  assert.deepEqual(JSON.parse(old.body), {
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1alpha1',
    metadata: { name: 'kubelet' },
    flags: { v: '2' },
  });
  assert.match(String(old.headers['warning']), /deprecated/);
  assert.equal((await ask('/statusz', { headers: { Accept: 'application/json' } })).status, 406);
});

test('disabled handlers return an error', async () => {
  const none = await aSecureServer(t, { secure: { handlers: { ...handlers, debugging: false } } });
  for (const path of [
    '/run/a/b/c',
    '/exec/a/b/c',
    '/attach/a/b/c',
    '/portForward/a/b',
    '/containerLogs/a/b/c',
    '/runningpods/',
    '/debug/pprof/',
    '/logs/',
  ]) {
    const { status, body } = await none.ask(path);
    assert.deepEqual([path, status, body], [path, 405, 'Debug endpoints are disabled.\n']);
  }
  assert.match((await none.ask('/debug/timeline')).body, /^Debug endpoints are disabled\. On the node, the command `kubelet timeline`/);
  for (const path of ['/configz', '/statusz', '/flagz', '/allocatedPods', '/checkpoint/a/b/c'])
    assert.equal((await none.ask(path)).status, 404, path);
  assert.equal((await none.ask('/pods')).status, 200);
  const some = await aSecureServer(t, {
    secure: { handlers: { ...handlers, profiling: false, systemLogs: false, statusz: false, allocatedPods: false } },
  });
  assert.equal((await some.ask('/debug/pprof/profile')).body, 'profiling endpoint is disabled.\n');
  assert.equal((await some.ask('/logs/syslog')).body, 'logs endpoint is disabled.\n');
  assert.equal((await some.ask('/statusz')).status, 404);
  assert.equal((await some.ask('/allocatedPods')).status, 404);
});

test('a profile of the main thread contains its functions', async () => {
  const { port } = await aSecureServer(t);
  const bytes = (path: string) =>
    new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = [];
      httpsRequest({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (response) => {
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)));
      })
        .on('error', reject)
        .end();
    });
  const stop = new AbortController();
  const busy = (async function burnInTheMainThread() {
    while (!stop.signal.aborted) {
      for (let i = 0; i < 1e6; i += 1) Math.sqrt(i);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const profile = gunzipSync(await bytes('/debug/pprof/profile?seconds=0.5'));
  stop.abort();
  await busy;
  assert.ok(profile.includes('burnInTheMainThread'));
  assert.ok(profile.includes('nanoseconds'));
  const kept: object[] = [];
  const filling = setInterval(() => kept.push(Array.from({ length: 1e4 }, (_, i) => ({ i }))), 10);
  const heap = gunzipSync(await bytes('/debug/pprof/heap?seconds=0.5'));
  clearInterval(filling);
  assert.ok(heap.includes('inuse_space') && kept.length > 0);
});

test('the log verbosity can be set at run time, only to a number', async () => {
  const { ask } = await aSecureServer(t, { secure: { handlers: { ...handlers, debugFlags: true } } });
  const put = async (body: string, method = 'PUT') => {
    const { status, body: text } = await ask('/debug/flags/v', { method, body });
    return [status, text];
  };
  assert.deepEqual(await put('5'), [200, 'successfully set klog.logging.verbosity to 5']);
  assert.deepEqual(await put('much'), [400, 'strconv.ParseUint: parsing "much": invalid syntax']);
  assert.deepEqual(await put('99999999999'), [400, 'strconv.ParseUint: parsing "99999999999": value out of range']);
  assert.deepEqual(await put('5', 'POST'), [406, 'unsupported http method']);
  assert.equal((await put('5'.repeat(5000)))[0], 413);
});
