/**
 * The built kubelet gets 1,600 malformed pods in batches, from all its sources. It stays healthy, every fault is contained, no thread dies,
 * and a valid pod runs next to each batch, also after a restart of the kubelet.
 *
 * `FUZZ_SEED` and `FUZZ_PODS` repeat a run; a failure names its seed.
 */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { hostilePods, fuzzSeeds } from '../../support/fuzz/hostile-pods.ts';
import { harmless } from '../../support/fuzz/harmless.ts';
import { OpenApiServer } from '../../support/fuzz/open-api-server.ts';
import { ensureBuilt, RunningKubelet } from '../../support/kubelet/kubelet-command.ts';
import { prepareKubelet, waitUntilHealthy, type PreparedKubelet } from '../../support/kubelet/prepared-kubelet.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

before(ensureBuilt);

const pods = Number(process.env['FUZZ_PODS'] ?? 1600);
const batchSize = 200;
/** Of ten pods, one is in a file, one at the URL, and eight are in the API server. */
const sourceOf = (index: number) => (['file', 'http'] as const)[index % 10] ?? 'api';
const canaryMs = 30_000;

type Fields = Record<string, unknown>;

class FuzzedNode {
  readonly api: OpenApiServer;
  readonly #prepared: PreparedKubelet;
  readonly #readOnlyPort: number;
  readonly #list: { items: Fields[] };
  #kubelet: RunningKubelet | null = null;
  #canaries = 0;
  #hasEnded = false;

  private constructor(api: OpenApiServer, prepared: PreparedKubelet, readOnlyPort: number, list: { items: Fields[] }) {
    this.api = api;
    this.#prepared = prepared;
    this.#readOnlyPort = readOnlyPort;
    this.#list = list;
  }

  static async start(t: TestContext): Promise<FuzzedNode> {
    const list = { items: [] as Fields[] };
    const server = createServer((_, response) => response.end(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', ...list })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const readOnlyPort = await reservePort();
    const prepared = await prepareKubelet(t, {
      staticPodURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      httpCheckFrequency: '1s',
      fileCheckFrequency: '1s',
      address: '127.0.0.1',
      port: await reservePort(),
      readOnlyPort,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      maxPods: 2000,
      // This test causes more events than the default limit lets through.
      eventRecordQPS: 0,
    });
    mkdirSync(join(prepared.folder, 'cwd'));
    const api = await OpenApiServer.start(t, prepared.folder);
    const node = new FuzzedNode(api, prepared, readOnlyPort, list);
    await node.startKubelet();
    return node;
  }

  async startKubelet(): Promise<void> {
    const { args, folder } = this.#prepared;
    this.#kubelet = new RunningKubelet([...args, '--kubeconfig', this.api.kubeconfig, '--hostname-override', 'node-1'], {
      cwd: join(folder, 'cwd'),
    });
    this.#hasEnded = false;
    void this.#kubelet.ended.then(() => (this.#hasEnded = true));
    await waitUntilHealthy(this.#prepared);
  }

  async stopKubelet(): Promise<void> {
    this.#kubelet?.kill('SIGTERM');
    const ended = await this.#kubelet?.ended;
    assert.equal(ended?.code, 0, this.log());
  }

  /** Adds each pod to its source. A source may ignore invalid pods. */
  async add(batch: readonly Fields[], first: number): Promise<void> {
    const { folder } = this.#prepared;
    this.#list.items = [];
    for (const [at, pod] of batch.entries()) {
      const index = first + at;
      const source = sourceOf(index);
      const safePod = harmless(pod, join(folder, 'host'));
      if (source === 'api') this.api.put(named(safePod, index));
      else if (source === 'http') this.#list.items.push(named(safePod, index));
      else {
        writeFileSync(join(folder, 'part'), JSON.stringify(named(safePod, index)));
        renameSync(join(folder, 'part'), join(folder, 'manifests', `${index}.json`));
      }
    }
  }

  /** Replaces the content of the API server's pods. */
  change(batch: readonly Fields[], first: number): void {
    for (const [at, pod] of batch.entries()) {
      if (sourceOf(first + at) === 'api') this.api.put(named(harmless(pod, join(this.#prepared.folder, 'host')), first + at));
    }
  }

  /** Deletes half of the pods gracefully, and removes the others at once. */
  remove(count: number, first: number): void {
    this.#list.items = [];
    for (let index = first; index < first + count; index += 1) {
      if (index % 2 === 0) this.api.delete(`uid-${index}`);
      else this.api.remove(`uid-${index}`);
      rmSync(join(this.#prepared.folder, 'manifests', `${index}.json`), { force: true });
    }
  }

  /** Creates a valid pod, waits until it runs, and returns its UID. */
  async canary(): Promise<string> {
    this.#canaries += 1;
    const name = `canary-${this.#canaries}`;
    const spec = {
      dnsPolicy: 'Default',
      restartPolicy: 'Always',
      enableServiceLinks: false,
      containers: [{ name: 'app', image: 'sim/run:1' }],
    };
    const metadata = { name, namespace: 'default', uid: name, creationTimestamp: new Date().toISOString() };
    this.api.put({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, nodeName: 'node-1' }, status: { phase: 'Pending' } });
    await this.untilRunning(name);
    return name;
  }

  /** Deletes the pod and waits until it has ended. */
  async end(uid: string): Promise<void> {
    this.api.delete(uid);
    await waitUntil(
      () => `${uid} is gone; ${this.log()}`,
      () => this.api.pod(uid) === undefined,
      canaryMs,
    );
  }

  async untilRunning(uid: string): Promise<void> {
    const status = () => this.api.pod(uid)?.status;
    const isOver = () => this.#hasEnded || status()?.['phase'] === 'Running';
    await waitUntil(() => `${uid} runs; it is ${JSON.stringify(status())}; ${this.log()}`, isOver, canaryMs);
    assert.ok(!this.#hasEnded, `the kubelet has ended: ${this.log()}`);
  }

  /** Asserts that the kubelet is healthy, lists its pods, and has no uncontained fault. */
  async check(canary: string): Promise<void> {
    const get = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    assert.equal(await get(this.#prepared.healthzPort, '/healthz'), 'ok', this.log());
    const { items } = JSON.parse(await get(this.#readOnlyPort, '/pods')) as { items: { metadata: { uid: string } }[] };
    assert.ok(
      items.some(({ metadata }) => metadata.uid === canary),
      `${canary} is not listed`,
    );
    const metrics = await get(this.#readOnlyPort, '/metrics');
    const bad = metrics.split('\n').filter((line) => /^kubelet_(uncaught_faults|thread_deaths|thread_hangs)_total\S* [1-9]/.test(line));
    assert.deepEqual(bad, [], this.log());
  }

  async containersOf(podUID: string): Promise<string[]> {
    const { containers } = await this.#prepared.runtime.control.state();
    return containers.filter((one) => one.podUID === podUID).map(({ id, state }) => `${id} ${state}`);
  }

  /** Returns the last log lines about faults, and the last log lines. */
  log(): string {
    const lines = (this.#kubelet?.stderr ?? '').split('\n');
    const faults = lines.filter((line) => / (Contained|Uncaught)|thread died|command failed/.test(line));
    return [...faults.slice(-10), ...lines.slice(-10)].map((line) => line.slice(0, 2000)).join('\n');
  }
}

/** Gives the pod a unique name and UID, except some pods whose metadata is not an object. */
function named(pod: Fields, index: number): Fields {
  const { metadata } = pod;
  const isPlain = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
  if (!isPlain && index % 3 === 0) return pod;
  return { ...pod, metadata: { ...(isPlain ? metadata : {}), name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` } };
}

const seeds = fuzzSeeds();
for (const seed of seeds) {
  const count = Math.ceil(pods / seeds.length);
  test(`a kubelet survives ${count} hostile pods: FUZZ_SEED=${seed}`, async (t) => {
    const node = await FuzzedNode.start(t);
    const lasting = await node.canary();
    const [container] = await node.containersOf(lasting);
    const all = hostilePods(seed, count);
    const changes = hostilePods(seed + count, batchSize);
    let ended = Promise.resolve();
    for (let first = 0; first < count; first += batchSize) {
      const batch = all.slice(first, first + batchSize);
      await node.add(batch, first);
      const canary = await node.canary();
      await node.check(canary);
      node.change(changes.slice(0, batch.length), first);
      const isLast = first + batchSize >= count;
      if (!isLast) node.remove(batch.length, first);
      // The previous valid pod ends while the next batch is handled.
      await ended;
      ended = node.end(canary);
      ended.catch(() => {});
    }
    await ended;
    await node.stopKubelet();
    await node.startKubelet();
    await node.check(await node.canary());
    assert.deepEqual(await node.containersOf(lasting), [container]);
    await node.stopKubelet();
  });
}
