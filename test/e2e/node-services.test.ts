/** A standalone node: its endpoints, the URL source, drop-in files, registry credentials. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { busyboxArchive } from '../../lab/containerd/local-images.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { reservePort } from '../../lab/host/reserve-ports.ts';
import { Cleanups } from '../support/cleanups.ts';
import { PrivateRegistry } from '../support/kubelet/private-registry.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';

const preload = join(import.meta.dirname, '../support/preloads/thread-ender.mjs');

describe('a standalone node', () => {
  const hooks = new Cleanups();
  const insecure = new Agent({ connect: { rejectUnauthorized: false } });
  /** The URL's response, and the X-Node header of the last request. */
  const source = { response: JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] }), header: '' };
  let node: TestNode;
  let port: number;
  let dropIns: string;

  before(async () => {
    dropIns = mkdtempSync(join(tmpdir(), 'drop-ins-'));
    hooks.after(() => rmSync(dropIns, { recursive: true }));
    const server = createServer(({ headers }, response) => {
      source.header = String(headers['x-node']);
      response.end(source.response);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    hooks.after(() => void server.close());
    hooks.after(() => insecure.destroy());
    port = await reservePort();
    node = await TestNode.start(hooks, {
      flags: ['--config-dir', dropIns, '--cert-dir', dropIns],
      env: { NODE_OPTIONS: `--import=${preload}` },
      config: {
        port,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
        enableSystemLogHandler: true,
        enableSystemLogQuery: true,
        enableDebugFlagsHandler: true,
        featureGates: { PodLogsQuerySplitStreams: true, KubeletAllocatedPodsEndpoint: true },
        httpCheckFrequency: '200ms',
      },
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
    const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
    writeFileSync(join(dropIns, '10-url.conf'), `${header}staticPodURL: ${url}\nstaticPodURLHeader: {X-Node: [first]}\n`);
    writeFileSync(
      join(dropIns, '20-more.conf'),
      `${header}staticPodURLHeader: {X-Node: [second]}\nlogging: {format: json}\nmaxPods: 77\nreservedSystemCPUs: '0'\nkubeReserved: {cpu: "3", memory: 1Mi}\n`,
    );
    await node.startKubelet();
  });
  after(() => hooks.run());

  interface SendOptions {
    readonly method?: 'GET' | 'POST' | 'PUT';
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }

  async function send(path: string, options: SendOptions = {}) {
    const { statusCode, body, headers } = await request(`https://127.0.0.1:${port}${path}`, {
      dispatcher: insecure,
      method: 'GET',
      ...options,
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    return { status: statusCode, text: bytes.toString(), bytes, type: headers['content-type'] };
  }

  test('runs pods from a URL, and follows additions, changes and removals', async () => {
    const manifest = (value: string) => aManifest('from-url', { containers: [aBusybox({ env: [{ name: 'VALUE', value }] })] });
    source.response = JSON.stringify(manifest('one'));
    const first = await node.untilRunning('from-url');
    assert.equal(first.metadata.annotations?.['kubernetes.io/config.source'], 'http');
    source.response = JSON.stringify(manifest('two'));
    await node.until(
      'from-url',
      'was replaced',
      ({ metadata, status }) => metadata.uid !== first.metadata.uid && status?.phase === 'Running',
    );
    source.response = JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] });
    await node.untilGone('from-url');
  });

  test('merges drop-in files in order of their names, and logs JSON', async () => {
    const { kubeletconfig } = JSON.parse((await send('/configz')).text) as { kubeletconfig: Record<string, unknown> };
    assert.equal(kubeletconfig['maxPods'], 77);
    await waitUntil('the URL is requested with the header of the last file', () => source.header === 'second');
    for (const line of node.log().trim().split('\n')) assert.equal(typeof (JSON.parse(line) as { msg: string }).msg, 'string');
  });

  test('logs the configuration in effect at its start, without the values of headers', () => {
    const lines = node.log().trim().split('\n');
    const logged = lines
      .map((line) => JSON.parse(line) as { msg: string; config?: string })
      .filter(({ msg }) => msg === 'Effective KubeletConfiguration');
    assert.equal(logged.length, 1);
    assert.match(logged[0]?.config ?? '', /^maxPods: 77$/m);
    assert.match(logged[0]?.config ?? '', /^staticPodURLHeader:\n +X-Node:\n +- <masked>$/m);
  });

  test('shows the values in effect on /configz: of reserved CPUs, and of its own certificate', async () => {
    const { kubeletconfig } = JSON.parse((await send('/configz')).text) as { kubeletconfig: Record<string, unknown> };
    const { kubeReserved, systemReserved, tlsCertFile, tlsPrivateKeyFile } = kubeletconfig;
    assert.deepEqual({ kubeReserved, systemReserved }, { kubeReserved: { memory: '1Mi' }, systemReserved: { cpu: '1' } });
    assert.deepEqual([tlsCertFile, tlsPrivateKeyFile], [join(dropIns, 'kubelet.crt'), join(dropIns, 'kubelet.key')]);
  });

  test('serves health, metrics, version and flags', async () => {
    node.apply(aManifest('shown'));
    const { metadata } = await node.untilRunning('shown');
    assert.deepEqual(
      [(await send('/healthz')).text, await (await node.get('/healthz')).text(), await (await node.healthz()).text()],
      ['ok', 'ok', 'ok'],
    );
    for (const read of [async () => (await send('/metrics')).text, async () => (await node.get('/metrics')).text()]) {
      for (const name of ['kubelet_running_pods', 'kubelet_pod_start_duration_seconds_count', 'kubelet_runtime_operations_total']) {
        await waitUntil(`${name} counts`, async () => new RegExp(`^${name}(\\{[^}]*\\})? [1-9]`, 'm').test(await read()));
      }
    }
    assert.match((await send('/metrics/slis')).text, /^kubernetes_healthcheck\{name="ping",type="healthz"\} 1$/m);
    assert.match((await send('/statusz')).text, new RegExp(`^Binary version: ${kubernetesVersion.slice(1)}$`, 'm'));
    assert.match((await send('/flagz')).text, /^hostname-override=test-node$/m);
    for (const [page, kind] of [
      ['/statusz', 'Statusz'],
      ['/flagz', 'Flagz'],
    ] as const) {
      const accept = `application/yaml;v=v1beta1;g=config.k8s.io;as=${kind}`;
      const { status, text } = await send(page, { headers: { accept } });
      assert.deepEqual([status, text.split('\n').slice(0, 2)], [200, [`kind: ${kind}`, 'apiVersion: config.k8s.io/v1beta1']]);
    }
    const running = JSON.parse((await send('/runningpods/')).text) as { items: { metadata: { uid: string } }[] };
    assert.ok(running.items.some((pod) => pod.metadata.uid === metadata.uid));
    const allocated = JSON.parse((await send('/allocatedPods')).text) as { items: Pod[] };
    const one = allocated.items.find((pod) => pod.metadata.uid === metadata.uid);
    assert.deepEqual([one?.spec.containers.length, one?.status], [1, {}]);
    const onePath = `/allocatedPods/${metadata.namespace}/${metadata.name}`;
    assert.equal((JSON.parse((await send(`${onePath}/${metadata.uid}`)).text) as Pod).metadata.uid, metadata.uid);
    assert.deepEqual([(await send(`${onePath}/other`)).status, (await node.get('/allocatedPods')).status], [404, 404]);
    assert.deepEqual([(await node.get('/runningpods/')).status, (await node.get('/logs/')).status], [405, 405]);
  });

  test('serves /run, /containerLogs and /logs', async () => {
    node.apply(aManifest('talks', { containers: [aBusybox({ sh: 'echo out; echo err >&2; sleep 1000' })] }));
    const { metadata, status } = await node.untilRunning('talks');
    const { status: code, text } = await send(`/run/default/${metadata.name}/app?cmd=echo+ran`, { method: 'POST' });
    assert.deepEqual([code, text], [200, 'ran\n']);
    const log = async (stream: string) => (await send(`/containerLogs/default/${metadata.name}/app?stream=${stream}`)).text;
    await waitUntil('the log is complete', async () => (await log('Stdout')) === 'out\n' && (await log('Stderr')) === 'err\n');
    const id = status?.containerStatuses?.[0]?.containerID?.slice('containerd://'.length);
    assert.match((await send(`/logs/containers/${metadata.name}_default_app-${id}.log`)).text, /stdout F out\n/);
    assert.match((await send('/logs/?query=no-such-service')).text, /log not found for no-such-service/);
  });

  test('serves profiles, and changes its log verbosity', async () => {
    for (const kind of ['profile', 'heap']) {
      const { status, bytes } = await send(`/debug/pprof/${kind}?seconds=1`);
      assert.equal(status, 200);
      assert.ok(gunzipSync(bytes).includes('samples') || gunzipSync(bytes).includes('inuse_space'), kind);
    }
    assert.match((await send('/debug/pprof/cmdline')).text, /cli\.js\0--config\0/);
    assert.equal((await send('/debug/flags/v', { method: 'PUT', body: '5' })).text, 'successfully set klog.logging.verbosity to 5');
  });

  test('restarts a dead thread without effect on pods', async () => {
    // The probes thread runs when a pod has a probe.
    node.apply(aManifest('steady', { containers: [aBusybox({ readinessProbe: { exec: { command: ['true'] } } })] }));
    const before = await node.untilRunning('steady');
    for (const thread of ['pleg', 'images', 'stats', 'probes', 'server']) {
      writeFileSync(join(node.folder, `end-${thread}`), '');
      await waitUntil(`${thread} has died`, () => new RegExp(`"thread died[^\\n]*"thread":"${thread}"`).test(node.log()), 20_000);
      await waitUntil(
        'the node is healthy',
        () =>
          node.healthz().then(
            ({ ok }) => ok,
            () => false,
          ),
        20_000,
      );
    }
    node.apply(aManifest('after-thread-restarts'));
    await node.untilRunning('after-thread-restarts');
    const { status } = await node.untilRunning('steady');
    assert.equal(status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
  });

  test('pulls with the node’s credentials, each time under policy Always', async () => {
    // This is the last test of the file, because the busybox image of all tests needs these credentials afterwards.
    const registry = await PrivateRegistry.start(hooks, busyboxArchive, { node: 'geheim' });
    const auths = { [registry.host]: { username: 'node', password: 'geheim' } };
    mkdirSync(node.rootDir, { recursive: true });
    writeFileSync(join(node.rootDir, 'config.json'), JSON.stringify({ auths }));
    const run = async (name: string, imagePullPolicy: string) => {
      node.apply(aManifest(name, { containers: [aBusybox({ image: `${registry.host}/team/app:1`, imagePullPolicy })] }));
      await node.untilRunning(name);
    };
    await run('first', 'IfNotPresent');
    await run('second', 'IfNotPresent');
    assert.deepEqual(registry.pulls, ['node team/app:1']);
    await run('third', 'Always');
    assert.deepEqual(registry.pulls, ['node team/app:1', 'node team/app:1']);
  });
});
