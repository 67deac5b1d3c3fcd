/** The simulated runtime behaves like containerd for a CRI client. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { CriClient } from '../../../src/shared/cri/client.ts';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

const limits = { deadlineMs: 10_000 };

async function connected(t: TestContext, options: RuntimeOptionsInput = {}) {
  const { endpoint, control } = await startSimulatedRuntime(t, options);
  const client = new CriClient({ endpoint });
  t.after(() => client.close());
  return { client, control, cri: client.runtime, images: client.images };
}
type Connected = Awaited<ReturnType<typeof connected>>;

function sandboxConfig(name: string, logDirectory = '') {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
    labels: { 'io.kubernetes.pod.name': name },
    logDirectory,
  };
}

async function runContainer({ cri, images }: Connected, image: string, { logDirectory = '', attempt = 0, sandbox = '' } = {}) {
  const config = sandboxConfig('web', logDirectory);
  const podSandboxId = sandbox || (await cri.call('runPodSandbox', { config }, limits)).podSandboxId;
  await images.call('pullImage', { image: { image } }, limits);
  const container = { metadata: { name: 'app', attempt }, image: { image }, logPath: logDirectory === '' ? '' : 'app.log' };
  const { containerId } = await cri.call('createContainer', { podSandboxId, config: container, sandboxConfig: config }, limits);
  await cri.call('startContainer', { containerId }, limits);
  return { podSandboxId, containerId };
}

async function statusOf({ cri }: Connected, containerId: string) {
  return (await cri.call('containerStatus', { containerId }, limits)).status!;
}

function hasCode(code: number, message: RegExp) {
  return (err: unknown) => {
    assert.ok(err instanceof CriError);
    assert.equal(err.code, code);
    assert.match(err.message, message);
    return true;
  };
}

test('a container runs, exits and reports its exit code', async (t) => {
  const runtime = await connected(t);
  const { containerId } = await runContainer(runtime, 'sim/exit:3-after-50ms');
  assert.equal((await statusOf(runtime, containerId)).state, 1);
  const ended = await waitUntil('the container has exited', async () => {
    const now = await statusOf(runtime, containerId);
    return now.state === 2 ? now : null;
  });
  assert.equal(ended.exitCode, 3);
  assert.equal(ended.reason, 'Error');
  assert.equal(ended.image?.image, 'docker.io/sim/exit:3-after-50ms');
  assert.ok(ended.finishedAt >= ended.startedAt);
});

test('a stop ends a container, kills a stubborn one after the grace period, and is idempotent', async (t) => {
  const runtime = await connected(t);
  const { containerId, podSandboxId } = await runContainer(runtime, 'sim/run:1');
  await runtime.cri.call('stopContainer', { containerId, timeout: 30n }, limits);
  assert.equal((await statusOf(runtime, containerId)).exitCode, 143);
  await runtime.cri.call('stopContainer', { containerId, timeout: 30n }, limits);
  const second = await runContainer(runtime, 'sim/stubborn:1', { sandbox: podSandboxId, attempt: 1 });
  const began = performance.now();
  await runtime.cri.call('stopContainer', { containerId: second.containerId, timeout: 1n }, limits);
  assert.ok(performance.now() - began > 900);
  assert.equal((await statusOf(runtime, second.containerId)).exitCode, 137);
  await runtime.cri.call('stopContainer', { containerId: 'nobody', timeout: 1n }, limits);
});

test("invalid calls return containerd's errors", async (t) => {
  const runtime = await connected(t);
  const { cri } = runtime;
  const { containerId, podSandboxId } = await runContainer(runtime, 'sim/run:1');
  await assert.rejects(cri.call('startContainer', { containerId }, limits), hasCode(2, /container is in CONTAINER_RUNNING state/));
  await assert.rejects(cri.call('removeContainer', { containerId }, limits), hasCode(2, /still running, to stop first/));
  await assert.rejects(
    cri.call('runPodSandbox', { config: sandboxConfig('web') }, limits),
    hasCode(2, /name "web_default_uid-web_0" is reserved/),
  );
  await assert.rejects(cri.call('containerStatus', { containerId: 'nobody' }, limits), hasCode(5, /not found/));
  await assert.rejects(cri.call('podSandboxStatus', { podSandboxId: 'nobody' }, limits), hasCode(5, /not found/));
  const config = { metadata: { name: 'late' }, image: { image: 'sim/run:1' } };
  await assert.rejects(
    cri.call('createContainer', { podSandboxId, config: { ...config, image: { image: 'absent' } } }, limits),
    hasCode(5, /failed to resolve image "absent"/),
  );
  await cri.call('stopPodSandbox', { podSandboxId }, limits);
  await cri.call('stopPodSandbox', { podSandboxId }, limits);
  assert.equal((await statusOf(runtime, containerId)).exitCode, 137);
  await assert.rejects(cri.call('createContainer', { podSandboxId, config }, limits), hasCode(5, /failed to get sandbox container task/));
  const stopped = (await cri.call('podSandboxStatus', { podSandboxId }, limits)).status!;
  assert.deepEqual([stopped.state, stopped.network?.ip], [1, '']);
  await cri.call('removePodSandbox', { podSandboxId }, limits);
  await cri.call('removePodSandbox', { podSandboxId }, limits);
  assert.deepEqual((await cri.call('listContainers', {}, limits)).containers, []);
});

test('lists contain every seeded pod once, in a different order for each call, including map entries', async (t) => {
  const { cri, control } = await connected(t);
  const seeded = await control.seed({ pods: 200, containersPerPod: 2 });
  const list = async () => (await cri.call('listContainers', {}, limits)).containers;
  const [first, second] = [await list(), await list()];
  const ids = (items: typeof first) => items.map(({ id }) => id);
  assert.deepEqual(new Set(ids(first)), new Set(seeded.flatMap((pod) => pod.containerIDs)));
  assert.equal(first.length, 400);
  assert.notDeepEqual(ids(first), ids(second));
  const orders = new Set(first.map(({ annotations }) => Object.keys(annotations).join()));
  assert.ok(orders.size > 10);
  const filtered = await cri.call('listContainers', { filter: { podSandboxId: seeded[7]!.sandboxID } }, limits);
  assert.deepEqual(new Set(ids(filtered.containers)), new Set(seeded[7]!.containerIDs));
  const byLabel = await cri.call('listPodSandbox', { filter: { labelSelector: { 'io.kubernetes.pod.name': 'seeded-9' } } }, limits);
  assert.deepEqual(
    byLabel.items.map(({ id }) => id),
    [seeded[9]!.sandboxID],
  );
  const raw = await cri.callRaw('listContainers', {}, limits);
  assert.ok(raw.length / 400 > 1300, `a container takes ${raw.length / 400} bytes`);
});

test('each event is delivered to one subscriber, with the status of the pod and all its containers', async (t) => {
  const runtime = await connected(t);
  const abort = new AbortController();
  const seen: string[] = [];
  const listen = async () => {
    for await (const event of runtime.cri.stream('getContainerEvents', {}, { signal: abort.signal })) {
      seen.push(`${event.containerEventType} ${event.podSandboxStatus?.metadata?.name} ${event.containersStatuses.length}`);
    }
  };
  const listeners = [listen(), listen()];
  await waitUntil('two listen', async () => (await runtime.control.eventSubscribers()) === 2);
  const { containerId } = await runContainer(runtime, 'sim/run:1');
  await runtime.control.exitContainer(containerId, 9);
  await waitUntil('all events came', () => seen.length >= 5);
  // Sandbox created and started, container created, started, stopped; two streams have no common order.
  assert.deepEqual(seen.sort(), ['0 web 0', '0 web 1', '1 web 0', '1 web 1', '2 web 1']);
  abort.abort();
  await Promise.all(listeners);
});

test('the event stream and streaming lists are unimplemented when they are disabled', async (t) => {
  const { cri, control } = await connected(t, { events: false });
  const take = async (method: 'getContainerEvents' | 'streamContainers') => {
    let items = 0;
    for await (const _ of cri.stream(method, {}, limits)) items += 1;
    return items;
  };
  await assert.rejects(take('getContainerEvents'), hasCode(12, /unknown method/));
  await assert.rejects(take('streamContainers'), hasCode(12, /unknown method/));
  await control.seed({ pods: 600, containersPerPod: 1 });
  await control.configure({ streamingLists: true });
  assert.equal(await take('streamContainers'), 2);
});

test('faults can be injected: a hang for one container, a number of errors, a lost reply, a reply that is too large', async (t) => {
  const { cri, control } = await connected(t);
  const [pod] = await control.seed({ pods: 1, containersPerPod: 2 });
  const [wedged, well] = pod!.containerIDs;
  await control.fault({ call: 'ContainerStatus', id: wedged!, kind: 'hang' });
  await assert.rejects(cri.call('containerStatus', { containerId: wedged! }, { deadlineMs: 100 }), hasCode(4, /Deadline/i));
  await cri.call('containerStatus', { containerId: well! }, limits);
  const freed = cri.call('containerStatus', { containerId: wedged! }, limits);
  await waitUntil('the call hangs', async () => (await control.counters())['ContainerStatus']!.inFlight === 1);
  await control.clearFaults();
  await freed;
  await control.fault({ call: 'StopContainer', id: 'app-1', kind: 'fail', code: grpcCode.INTERNAL, message: 'broken', times: 1 });
  await assert.rejects(cri.call('stopContainer', { containerId: well! }, limits), hasCode(13, /broken/));
  await control.fault({ call: 'StopContainer', kind: 'failAfter', times: 1 });
  await assert.rejects(cri.call('stopContainer', { containerId: well! }, limits), hasCode(14, /simulated/));
  assert.equal((await cri.call('containerStatus', { containerId: well! }, limits)).status?.state, 2);
  await control.fault({ call: 'ListContainers', kind: 'oversize', times: 1 });
  await assert.rejects(cri.call('listContainers', {}, limits), hasCode(8, /larger than max|max/i));
  assert.equal((await cri.call('listContainers', {}, limits)).containers.length, 2);
});

test('containers keep running while the socket is closed and opened again', async (t) => {
  const { cri, control } = await connected(t);
  await control.seed({ pods: 3, containersPerPod: 1 });
  await cri.call('version', {}, limits);
  await control.closeSocket();
  await assert.rejects(cri.call('listContainers', {}, limits), hasCode(14, /./));
  await control.openSocket();
  const list = await waitUntil('it answers again', () => cri.call('listContainers', {}, limits).catch(() => null));
  assert.deepEqual(
    list.containers.map(({ state }) => state),
    [1, 1, 1],
  );
});

test('images are pulled, refused, found by each of their names, and removed', async (t) => {
  const { images } = await connected(t);
  assert.equal((await images.call('imageStatus', { image: { image: 'nginx' } }, limits)).image, undefined);
  const { imageRef } = await images.call('pullImage', { image: { image: 'nginx' } }, limits);
  const byTag = (await images.call('imageStatus', { image: { image: 'docker.io/library/nginx:latest' } }, limits)).image!;
  assert.equal(byTag.id, imageRef);
  const byDigest = (await images.call('imageStatus', { image: { image: byTag.repoDigests[0]! } }, limits)).image;
  assert.equal(byDigest?.id, imageRef);
  await images.call('removeImage', { image: { image: imageRef } }, limits);
  assert.deepEqual((await images.call('listImages', {}, limits)).images, []);
  await assert.rejects(
    images.call('pullImage', { image: { image: 'sim/unpullable:unauthorized' } }, limits),
    hasCode(2, /pull access denied/),
  );
});

test('logs are written in the CRI format, and to the new file only after ReopenContainerLog', async (t) => {
  const runtime = await connected(t);
  const folder = await mkdtemp(join(tmpdir(), 'simulated-logs-'));
  t.after(() => rm(folder, { recursive: true }));
  const { containerId } = await runContainer(runtime, 'sim/run:1', { logDirectory: folder });
  const path = join(folder, 'app.log');
  assert.match(await readFile(path, 'utf8'), /^\d{4}-\d\d-\d\dT[\d:.]+Z stdout F simulated output 1\n$/);
  await rename(path, `${path}.1`);
  await runtime.cri.call('reopenContainerLog', { containerId }, limits);
  assert.equal(await readFile(path, 'utf8'), '');
  await assert.rejects(runContainer(runtime, 'sim/run:2', { logDirectory: join(folder, 'absent') }), /reserved|ENOENT/);
});

test('a command returns the configured result, or by default the command itself', async (t) => {
  const runtime = await connected(t);
  const { containerId } = await runContainer(runtime, 'sim/run:1');
  const exec = (timeout = 0n) => runtime.cri.call('execSync', { containerId, cmd: ['cat', '/x'], timeout }, limits);
  const plain = await exec();
  assert.deepEqual([Buffer.from(plain.stdout).toString(), plain.exitCode], ['cat /x\n', 0]);
  await runtime.control.execResult('app', { stderr: 'no', exitCode: 4 });
  const configured = await exec();
  assert.deepEqual([Buffer.from(configured.stderr).toString(), configured.exitCode], ['no', 4]);
  await runtime.control.execResult('app', { takesMs: 60_000 });
  await assert.rejects(exec(1n), hasCode(4, /timeout 1s exceeded/));
});

test('a late call creates its sandbox although it was cancelled', async (t) => {
  const { cri, control } = await connected(t);
  await control.fault({ call: 'RunPodSandbox', kind: 'late' });
  await assert.rejects(cri.call('runPodSandbox', { config: sandboxConfig('late') }, { deadlineMs: 50 }), hasCode(4, /./));
  assert.deepEqual((await control.state()).sandboxes, []);
  await control.clearFaults();
  await waitUntil('the sandbox exists', async () => (await control.state()).sandboxes.length === 1);
});

test('a cancelled call creates nothing and releases its name', async (t) => {
  const { cri, control } = await connected(t, { latency: { RunPodSandbox: { p50Ms: 500, p99Ms: 500 } } });
  await assert.rejects(cri.call('runPodSandbox', { config: sandboxConfig('slow') }, { deadlineMs: 50 }), hasCode(4, /./));
  await waitUntil('the call has ended', async () => ((await control.counters())['RunPodSandbox']?.inFlight ?? 0) === 0);
  assert.deepEqual((await control.state()).sandboxes, []);
  await cri.call('runPodSandbox', { config: sandboxConfig('slow') }, limits);
});

test('2,500 pods with 5,000 containers are seeded at once and listed within the message limit', async (t) => {
  const { cri, control } = await connected(t);
  await control.seed({ pods: 2500, containersPerPod: 2 });
  const { containers } = await cri.call('listContainers', {}, limits);
  assert.equal(containers.length, 5000);
  const calls = await control.calls('ListContainers');
  assert.equal(calls.length, 1);
  assert.ok(calls[0]!.endMs >= calls[0]!.startMs);
});
