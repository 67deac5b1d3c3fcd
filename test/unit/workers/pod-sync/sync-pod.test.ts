import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aContainer, aPod, aSidecar } from '../../../support/pod-sync-samples.ts';
import { SyncBench } from '../../../support/sync-bench.ts';

const started = ['Created spec.containers{app}: Container created', 'Started spec.containers{app}: Container started'];

test('a new pod gets its folders, its volumes, its cgroup, a sandbox and its container, in this order', async () => {
  using bench = new SyncBench();
  const { line, result } = await bench.synced(aPod());
  const made = {
    sandbox: { id: 'sandbox-1', podName: 'web', podNamespace: 'default' },
    containers: [{ id: 'app-2', sandboxID: 'sandbox-1' }],
  };
  assert.deepEqual(result, { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, made });
  assert.deepEqual(bench.effects, ['mount volumes', 'make cgroup', 'make mounts of app']);
  assert.deepEqual(bench.runtime.calls, ['runPodSandbox 0', 'podSandboxIPs', 'createContainer app 0', 'startContainer app']);
  assert.deepEqual(line.events.slice(-2), started);
  assert.equal(bench.runtime.sandboxConfigs[0]?.linux?.cgroupParent, '/kubepods/poduid-1');
  const modeOf = (folder: string) => statSync(join(bench.settings.rootDir, 'pods/uid-1', folder)).mode & 0o777;
  assert.deepEqual(['.', 'volumes', 'plugins'].map(modeOf), [0o750, 0o750, 0o750]);
  assert.ok(existsSync(join(bench.settings.podLogsDir, 'default_web_uid-1')));
});

test('every start has a permit, which is given back', async () => {
  using bench = new SyncBench();
  const { line } = await bench.synced(aPod());
  const permits = line.requests.flatMap((request) => {
    if (request.type === 'startPermit') return [`${request.kind} ${request.id}`];
    return request.type === 'returnPermit' ? [`return ${request.id} ${request.succeeded}`] : [];
  });
  const [sandbox, container] = new Set(permits.map((permit) => /\d+/.exec(permit)![0]));
  assert.deepEqual(permits, [`sandbox ${sandbox}`, `return ${sandbox} true`, `container ${container}`, `return ${container} true`]);
});

test('a sandbox is made beside volumes that need not be waited for, and containers wait for both', async () => {
  using bench = new SyncBench();
  bench.failing.set('mount volumes', new Error('no luck'));
  const { result } = await bench.synced(aPod(), { valuesAtHand: true });
  assert.deepEqual(bench.runtime.calls, ['runPodSandbox 0', 'podSandboxIPs']);
  assert.equal(result.outcome === 'failed' && result.failure.reason, 'FailedMount');
  bench.failing.clear();
  await bench.synced(aPod(), { valuesAtHand: true });
  assert.deepEqual(bench.runtime.calls.slice(2), ['createContainer app 0', 'startContainer app']);
});

test('a pod that runs as it should is not touched', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.calls.length = 0;
  const { result, line } = await bench.synced(aPod());
  assert.deepEqual(bench.runtime.calls, []);
  assert.deepEqual(line.requests, []);
  assert.equal(result.changedRuntime, false);
});

test('a pod waits for the network, unless it is in that of the host', async () => {
  using bench = new SyncBench();
  bench.networkReady = false;
  const { line, result } = await bench.synced(aPod());
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'NetworkNotReady');
  assert.deepEqual(line.events, ['NetworkNotReady pod: network is not ready: cni plugin not initialized']);
  assert.deepEqual(bench.runtime.calls, []);
  bench.runtime.hostNetwork = true;
  assert.equal((await bench.synced(aPod({ hostNetwork: true }))).result.outcome, 'synced');
});

test('a pod in the host network does not ask for the addresses of its sandbox', async () => {
  using bench = new SyncBench();
  bench.runtime.hostNetwork = true;
  await bench.synced(aPod({ hostNetwork: true }));
  assert.ok(!bench.runtime.calls.includes('podSandboxIPs'));
});

for (const [step, event, keeps] of [
  // Its cgroup is made with its sandbox: by then its containers wait for that.
  ['make cgroup', 'FailedCreatePodContainer pod: unable to ensure pod container exists: no luck', false],
  ['mount volumes', 'FailedMount pod: no luck', true],
] as const) {
  test(`a pod that fails to ${step} gets no sandbox, and says so`, async () => {
    using bench = new SyncBench();
    bench.failing.set(step, new Error('no luck'));
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off' };
    const status = { name: 'app', image: '', imageID: '', ready: false, restartCount: 1, state: { waiting } };
    const { line, result } = await bench.synced(aPod(), { apiStatus: { containerStatuses: [status] } });
    assert.deepEqual(line.events, [event]);
    assert.equal(result.outcome, 'failed');
    assert.deepEqual(result.waiting, keeps ? { app: waiting } : {});
    assert.deepEqual(bench.runtime.calls, []);
  });
}

test('a volume that cannot be had is tried again soon, later each time, and the event says what it waits for', async () => {
  using bench = new SyncBench();
  bench.failing.set('mount volumes', new Error('MountVolume.SetUp failed for volume "data" : secret "s" not found'));
  const delays: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const { line, result } = await bench.synced(aPod());
    assert.deepEqual(line.events, ['FailedMount pod: MountVolume.SetUp failed for volume "data" : secret "s" not found']);
    assert.ok(result.outcome === 'failed');
    assert.deepEqual(result.failure, {
      reason: 'FailedMount',
      message:
        'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ' +
        'MountVolume.SetUp failed for volume "data" : secret "s" not found',
    });
    delays.push(Math.round((result.retryAtMs! - bench.clock.now()) / 100));
    await bench.clock.advance(1000);
  }
  assert.ok(delays[0]! >= 5 && delays[0]! <= 6 && delays[1]! >= 10 && delays[1]! <= 11 && delays[2]! >= 20, String(delays));
  bench.failing.clear();
  await bench.synced(aPod());
  bench.failing.set('mount volumes', new Error('again'));
  const { result } = await bench.synced(aPod());
  assert.ok(result.retryAtMs! - bench.clock.now() <= 550);
});

test('a pod that has waited for a volume for two minutes says so, and for which', async () => {
  using bench = new SyncBench();
  const failure = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  bench.failing.set('mount volumes', new Error(failure));
  const startedAtMs = bench.clock.now();
  for (let times = 0; times < 20; times += 1) {
    const { line, result } = await bench.synced(aPod());
    if (line.events.length > 1) {
      const why = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition';
      assert.deepEqual(line.events, [`FailedMount pod: ${failure}`, `FailedMount pod: Unable to attach or mount volumes: ${why}`]);
      break;
    }
    await bench.clock.advance(result.retryAtMs! - bench.clock.now());
  }
  const waitedSeconds = (bench.clock.now() - startedAtMs) / 1000;
  assert.ok(waitedSeconds > 120 && waitedSeconds < 150, String(waitedSeconds));
});

test('a volume that is only outdated lets the pod go on, and is tried again', async () => {
  using bench = new SyncBench();
  bench.outdated = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  const { line, result } = await bench.synced(aPod());
  assert.equal(result.outcome, 'synced');
  assert.equal(line.events[0], `FailedMount pod: ${bench.outdated}`);
  assert.ok(bench.runtime.calls.includes('startContainer app'));
  assert.ok(result.retryAtMs! - bench.clock.now() <= 550);
});

test('a sandbox that cannot be made fails the sync, with an event', async () => {
  using bench = new SyncBench();
  bench.runtime.failNext('runPodSandbox', 'no network plugin');
  const { line, result } = await bench.synced(aPod());
  assert.deepEqual(line.events, [
    'FailedCreatePodSandBox pod: Failed to create pod sandbox: rpc error: code = Unknown desc = no network plugin',
  ]);
  assert.ok(result.outcome === 'failed');
  assert.deepEqual(result.failure, {
    reason: 'CreatePodSandboxError',
    message:
      'failed to "CreatePodSandbox" for "web_default(uid-1)" with CreatePodSandboxError: ' +
      '"Failed to create sandbox for pod \\"web_default(uid-1)\\": rpc error: code = Unknown desc = no network plugin"',
  });
  assert.equal(result.changedRuntime, true);
});

test('a pod is run with the handler of its runtime class; calls about images do not name it', async () => {
  using bench = new SyncBench();
  bench.runtimeHandler = { handler: 'runsc' };
  const pod = aPod({ runtimeClassName: 'gvisor' });
  const { line } = await bench.synced(pod);
  assert.equal(bench.runtime.status('uid-1')?.sandboxes[0]?.runtimeHandler, 'runsc');
  const asked = line.requests.find(({ type }) => type === 'ensureImage');
  assert.equal(asked?.type === 'ensureImage' && asked.image.runtimeHandler, '');
});

test('a pod whose runtime class is not there does not start, and says so', async () => {
  using bench = new SyncBench();
  bench.runtimeHandler = { problem: 'runtimeclass.node.k8s.io "gvisor" not found' };
  const { line, result } = await bench.synced(aPod({ runtimeClassName: 'gvisor' }));
  assert.deepEqual(line.events, ['FailedCreatePodSandBox pod: Failed to create pod sandbox: runtimeclass.node.k8s.io "gvisor" not found']);
  assert.equal(result.outcome, 'failed');
  assert.ok(!bench.runtime.calls.some((call) => call.startsWith('runPodSandbox')));
});

test('a sandbox that died is replaced, and the containers with it', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.loseSandbox();
  bench.runtime.calls.length = 0;
  const { line } = await bench.synced(aPod());
  assert.equal(line.events[0], 'SandboxChanged pod: Pod sandbox changed, it will be killed and re-created.');
  assert.deepEqual(bench.runtime.calls, [
    'stopPodSandbox sandbox-1',
    'runPodSandbox 1',
    'podSandboxIPs',
    'createContainer app 1',
    'startContainer app',
  ]);
});

/** What the runtime writes as soon as a container runs. */
const writeLog = (bench: SyncBench, name: string, count: number) =>
  writeFileSync(join(bench.settings.podLogsDir, `default_web_uid-1/${name}/${count}.log`), '');
const instances = (bench: SyncBench) =>
  bench.runtime.status('uid-1')?.containers.map(({ name, state, restartCount }) => `${name} ${state} ${restartCount}`);

test('a task that is sent again before its sandbox was seen leaves it be, and asks for another look', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  writeLog(bench, 'app', 0);
  const { result } = await bench.synced(aPod(), { status: null });
  assert.deepEqual(result, { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, retryAtMs: bench.clock.now() + 1000 });
  assert.deepEqual(instances(bench), ['app running 0']);
});

test('a task that is sent again before its container was seen does not start a second one', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  writeLog(bench, 'app', 0);
  const { line, result } = await bench.synced(aPod(), { withoutContainers: true });
  assert.equal(result.outcome, 'synced');
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(line.events, []);
  assert.deepEqual(instances(bench), ['app running 0']);
});

test('a task that is sent again while the restart before it was not seen leaves the new instance be', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.exit('app', 1);
  const before = bench.runtime.status('uid-1');
  await bench.synced(aPod());
  const run = bench.run({ kind: 'sync', pod: aPod(), status: before, apiStatus: {}, backoffs: [] }, 'uid-1');
  assert.equal((await run.result).outcome, 'synced');
  assert.deepEqual(instances(bench), ['app running 1', 'app exited 0']);
});

test('a container that a lost task created and did not start is replaced', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.change('app', { state: 'created' });
  await bench.synced(aPod(), { withoutContainers: true });
  assert.ok(bench.runtime.calls.includes('removeContainer app-2'));
  assert.deepEqual(
    bench.runtime.status('uid-1')?.containers.map(({ id, state }) => `${id} ${state}`),
    ['app-3 running'],
  );
});

test('a sandbox that a lost task left unready is removed, and made again', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.loseSandbox();
  await bench.synced(aPod(), { status: null });
  assert.deepEqual(bench.runtime.calls.slice(5, 9), [
    'findSandboxes',
    'stopPodSandbox sandbox-1',
    'removePodSandbox sandbox-1',
    'runPodSandbox 0',
  ]);
});

test("a container's failure does not keep the others from being started", async () => {
  using bench = new SyncBench();
  bench.images.set('registry.example/a:1', {
    outcome: 'failed',
    failure: { reason: 'ImagePullBackOff', message: 'Back-off pulling image', retryAfterMs: 5000 },
  });
  bench.runtime.failNext('createContainer', 'no such device');
  const pod = aPod({ containers: [aContainer('a'), aContainer('b'), aContainer('c')] });
  const { line, result } = await bench.synced(pod);
  assert.deepEqual(result.waiting, {
    a: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' },
    b: { reason: 'CreateContainerError', message: 'no such device' },
  });
  assert.equal(result.retryAtMs, bench.clock.now() + 5000);
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'CreateContainerError');
  assert.deepEqual(line.events, [
    'Failed spec.containers{a}: Error: ImagePullBackOff',
    'Failed spec.containers{b}: Error: no such device',
    'Created spec.containers{c}: Container created',
    'Started spec.containers{c}: Container started',
  ]);
});

test('images are asked for with the pull secrets that there are; what is missing is told once', async () => {
  using bench = new SyncBench();
  const secret = { kind: 'Secret', uid: 'u', type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'e30=' } } as const;
  bench.values.set('Secret there', { outcome: 'value', value: secret });
  bench.values.set('Secret gone', { outcome: 'failed', failure: { reason: 'NotFound', message: 'secret "gone" not found' } });
  const imagePullSecrets = [{ name: 'there' }, {}, { name: 'gone' }];
  const { line } = await bench.synced(aPod({ imagePullSecrets, containers: [aContainer('a'), aContainer('b')] }));
  const asked = line.requests.flatMap((request) => (request.type === 'ensureImage' ? [request.image] : []));
  assert.deepEqual(
    asked.map(({ pullSecrets }) => pullSecrets),
    Array.from({ length: 2 }, () => [{ namespace: 'default', name: 'there', uid: 'u', type: secret.type, data: secret.data }]),
  );
  assert.deepEqual(
    asked.map(({ about }) => about?.fieldPath),
    ['spec.containers{a}', 'spec.containers{b}'],
  );
  assert.deepEqual(
    line.events.filter((event) => event.includes('pull secrets')),
    [
      'FailedToRetrieveImagePullSecret pod: ' +
        'Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
    ],
  );
});

test('a container that the runtime cannot start says why, without naming its id', async () => {
  using bench = new SyncBench();
  bench.runtime.failNext('startContainer', 'container app-2: exec: "nope": not found');
  const { line, result } = await bench.synced(aPod());
  assert.equal(line.events.at(-1), 'Failed spec.containers{app}: Error: container app: exec: "nope": not found');
  assert.deepEqual(Object.keys(result.waiting), ['app']);
  assert.equal(result.waiting['app']?.reason, 'RunContainerError');
});

test('a config that cannot be had is a reason of its own, and no container is created', async () => {
  using bench = new SyncBench();
  const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }];
  const { result } = await bench.synced(aPod({ containers: [aContainer('app', { env })] }));
  assert.equal(result.waiting['app']?.reason, 'CreateContainerConfigError');
  assert.ok(!bench.runtime.calls.some((call) => call.startsWith('createContainer')));
});

test('a failed init container keeps the pod from going on, a failed sidecar does not', async () => {
  using bench = new SyncBench();
  const pod = aPod({ initContainers: [aSidecar('s'), aContainer('i')] });
  bench.runtime.failNext('startContainer');
  await bench.synced(pod);
  assert.deepEqual(
    bench.runtime.status('uid-1')?.containers.map(({ name, state }) => `${name} ${state}`),
    ['s created'],
  );
  await bench.synced(pod);
  await bench.synced(pod);
  bench.runtime.exit('i', 0);
  await bench.synced(pod);
  assert.deepEqual(
    bench.runtime
      .status('uid-1')
      ?.containers.filter(({ state }) => state === 'running')
      .map(({ name }) => name),
    ['app', 's'],
  );
});

test('a container that crashes again and again waits longer each time, and main hears until when', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.exit('app', 1);
  const first = await bench.synced(aPod());
  assert.equal(first.result.outcome, 'synced');
  await bench.clock.advance(1000);
  bench.runtime.exit('app', 1);
  const exitedAt = bench.clock.now();
  await bench.clock.advance(1000);
  const second = await bench.synced(aPod());
  assert.ok(second.result.outcome === 'failed' && second.result.failure.reason === 'CrashLoopBackOff');
  assert.deepEqual(second.result.waiting, {
    app: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=app pod=web_default(uid-1)' },
  });
  assert.equal(second.result.retryAtMs, exitedAt + 10_000);
  assert.deepEqual(second.line.events, [
    'BackOff spec.containers{app}: Back-off restarting failed container app in pod web_default(uid-1)',
  ]);
  await bench.clock.advance(9000);
  assert.equal((await bench.synced(aPod())).result.outcome, 'synced');
  assert.deepEqual(
    bench.backoffs.map(({ backoffMs }) => backoffMs),
    [20_000],
  );
});

test('only the last instance of a failing init container is kept, and the logs go with the others', async () => {
  using bench = new SyncBench();
  const pod = aPod({ initContainers: [aContainer('i')] });
  const logs = join(bench.settings.podLogsDir, 'default_web_uid-1/i');
  mkdirSync(logs, { recursive: true });
  await bench.synced(pod);
  for (const count of [0, 1, 2]) {
    writeFileSync(join(logs, `${count}.log`), '');
    bench.runtime.exit('i', 1);
    bench.runtime.change('i', { logPath: join(logs, `${count}.log`) });
    await bench.clock.advance(400_000);
    await bench.synced(pod);
  }
  const instances = bench.runtime.status('uid-1')?.containers.map(({ restartCount }) => restartCount);
  assert.deepEqual(instances, [3, 2]);
  assert.ok(!existsSync(join(logs, '0.log')) && existsSync(join(logs, '2.log')));
});

test('the restart count goes on from the logs when the runtime has forgotten its containers', async () => {
  using bench = new SyncBench();
  const logs = join(bench.settings.podLogsDir, 'default_web_uid-1/app');
  mkdirSync(logs, { recursive: true });
  writeFileSync(join(logs, '4.log'), '');
  await bench.synced(aPod());
  assert.ok(bench.runtime.calls.includes('createContainer app 5'));
});

test('the log of a container is linked from the flat log folder', async () => {
  using bench = new SyncBench();
  mkdirSync(join(bench.settings.podLogsDir, 'default_web_uid-1/app'), { recursive: true });
  mkdirSync(bench.settings.containerLogsDir);
  writeFileSync(join(bench.settings.podLogsDir, 'default_web_uid-1/app/0.log.gz'), '');
  writeFileSync(join(bench.settings.podLogsDir, 'default_web_uid-1/app/1.log'), '');
  await bench.synced(aPod());
  // 1.log exists, so that this instance is number 2, whose log the fake runtime does not write
  assert.ok(!existsSync(join(bench.settings.containerLogsDir, 'web_default_app-app-2.log')));
  bench.runtime.exit('app', 1);
  writeFileSync(join(bench.settings.podLogsDir, 'default_web_uid-1/app/3.log'), '');
  await bench.synced(aPod());
  assert.ok(lstatSync(join(bench.settings.containerLogsDir, 'web_default_app-app-3.log')).isSymbolicLink());
});

test('a stop ends a sync that waits for a permit, and the permit is given back', async () => {
  using bench = new SyncBench();
  bench.holdPermits = true;
  const { line, result } = bench.sync(aPod());
  await line.asked('startPermit');
  line.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  const asked = line.requests.find(({ type }) => type === 'startPermit') as { id: number };
  assert.deepEqual(line.requests.at(-1), { type: 'returnPermit', id: asked.id, succeeded: false });
  assert.deepEqual(bench.runtime.calls, []);
});

test('a stopped sync whose sandbox failed has main look, since there may be one even so', async () => {
  using bench = new SyncBench();
  const { line, result } = bench.sync(aPod());
  bench.runtime.failNext('runPodSandbox', 'deadline exceeded');
  await line.asked('startPermit');
  line.post({ type: 'stop' });
  const { outcome, changedRuntime } = await result;
  assert.deepEqual([outcome, changedRuntime], ['stopped', true]);
});

test('a line that dies stops the sync', async () => {
  using bench = new SyncBench();
  bench.holdPermits = true;
  const { line, result } = bench.sync(aPod());
  await line.asked('startPermit');
  line.close();
  assert.equal((await result).outcome, 'stopped');
});

test('a stop does not come between the creation of a container and its start', async () => {
  using bench = new SyncBench();
  const run = bench.sync(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const createContainer = bench.runtime.createContainer.bind(bench.runtime);
  bench.runtime.createContainer = (...args) => {
    run.line.post({ type: 'stop' });
    return createContainer(...args);
  };
  assert.equal((await run.result).outcome, 'stopped');
  assert.deepEqual(bench.runtime.calls.slice(-2), ['createContainer a 0', 'startContainer a']);
});

test('a container of a changed definition is killed and started again', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { line } = await bench.synced(changed);
  assert.equal(line.events[0], 'Killing spec.containers{app}: Container app definition changed, will be restarted');
  assert.deepEqual(bench.runtime.calls.slice(-3), ['stopContainer app 30', 'createContainer app 1', 'startContainer app']);
});

test('a pod that ran outside of a cgroup of its own is killed, and comes back inside', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.hasCgroup = false;
  const running = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
  const { result } = await bench.synced(aPod(), { apiStatus: { containerStatuses: [running] } });
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(bench.runtime.calls.slice(-2), ['stopContainer app 30', 'stopPodSandbox sandbox-1']);
  await bench.synced(aPod());
  assert.equal(bench.hasCgroup, true);
  assert.deepEqual(bench.runtime.calls.slice(-2), ['createContainer app 1', 'startContainer app']);
});

test('when all containers restart they are removed, and the next sync comes at once', async () => {
  using bench = new SyncBench();
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
  const pod = aPod({ containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [rule] }), aContainer('b')] });
  await bench.synced(pod);
  bench.runtime.exit('a', 88);
  const conditions = [{ type: 'AllContainersRestarting', status: 'True' }];
  const { result } = await bench.synced(pod, { apiStatus: { conditions } });
  assert.deepEqual(bench.runtime.calls.slice(-3), ['stopContainer b 2', 'removeContainer b-3', 'removeContainer a-2']);
  assert.equal(result.retryAtMs, bench.clock.now());
});

test('the image of an image volume is pulled for the container that mounts it', async () => {
  using bench = new SyncBench();
  const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1', pullPolicy: 'IfNotPresent' } }];
  const withModels = aContainer('a', { volumeMounts: [{ name: 'models', mountPath: '/models' }] });
  const pod = aPod({ volumes, containers: [withModels, aContainer('b')] });
  const failure = { reason: 'ErrImagePull', message: 'not found' };
  bench.images.set('registry.example/models:1', { outcome: 'failed', failure });
  const { result } = await bench.synced(pod);
  assert.deepEqual(result.waiting, { a: failure });
  assert.ok(bench.runtime.calls.includes('startContainer b'));
});

test('a sysctl that the node does not allow keeps the pod from starting', async () => {
  using bench = new SyncBench();
  const sysctls = [{ name: 'kernel.msgmax', value: '65536' }];
  const { line, result } = await bench.synced(aPod({ securityContext: { sysctls } }));
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'SysctlForbidden');
  assert.match(line.events[0]!, /^SysctlForbidden pod: forbidden sysctl: "kernel.msgmax"/);
  assert.deepEqual(bench.runtime.calls, []);
});
