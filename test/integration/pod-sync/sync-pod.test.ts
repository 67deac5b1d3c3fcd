import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CriError } from '../../../src/shared/cri/cri-error.ts';
import { aContainer, aPod } from '../../support/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pod-sync-harness.ts';

const started = ['Created spec.containers{app}: Container created', 'Started spec.containers{app}: Container started'];

test('a new pod gets its folders, its volumes, its cgroup, a sandbox and its container, in this order', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = await harness.synced(aPod());
  const created = {
    sandbox: { id: 'sandbox-1', podName: 'web', podNamespace: 'default' },
    containers: [{ id: 'app-2', sandboxID: 'sandbox-1', name: 'app' }],
  };
  assert.partialDeepStrictEqual(result, { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, created });
  assert.equal(result.outcome === 'synced' && result.created?.sandbox?.status?.network?.ip, '10.0.0.1');
  assert.deepEqual(harness.effects, ['mount volumes', 'make mounts of app', 'make cgroup', 'write hosts 10.0.0.1']);
  assert.deepEqual(harness.runtime.calls, ['runPodSandbox 0', 'createContainer app 0', 'podSandboxStatus', 'startContainer app']);
  assert.deepEqual(channel.events.slice(-2), started);
  assert.equal(harness.runtime.sandboxConfigs[0]?.linux?.cgroupParent, '/kubepods/poduid-1');
  const modeOf = (folder: string) => statSync(join(harness.settings.rootDir, 'pods/uid-1', folder)).mode & 0o777;
  assert.deepEqual(['.', 'volumes', 'plugins'].map(modeOf), [0o750, 0o750, 0o750]);
  assert.ok(existsSync(join(harness.settings.podLogsDir, 'default_web_uid-1')));
});

test('a container is created while the addresses are asked for, unless its environment has them', async () => {
  using harness = new PodSyncHarness();
  const env = [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  await harness.synced(aPod({ containers: [aContainer('app', { env })] }));
  assert.deepEqual(harness.runtime.calls, ['runPodSandbox 0', 'podSandboxStatus', 'createContainer app 0', 'startContainer app']);
  assert.deepEqual(harness.runtime.containerConfigs[0]?.envs, [{ key: 'IP', value: new TextEncoder().encode('10.0.0.1') }]);
  assert.ok(!harness.effects.some((effect) => effect.startsWith('write hosts')), 'its mounts were made with them');
});

const notStarted = ['runPodSandbox 0', 'createContainer app 0', 'podSandboxStatus', 'removeContainer app-2'];

test('a container that was created before the addresses could not be had is not kept, nor counted', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('podSandboxStatus', 'gone');
  const { channel, result } = await harness.synced(aPod({ containers: [aContainer('app'), aContainer('other')] }));
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'FailedPodSandBoxStatus');
  assert.ok(channel.events.some((event) => event.startsWith('FailedPodSandBoxStatus pod: Unable to get pod sandbox status: ')));
  assert.deepEqual(harness.runtime.calls, notStarted);
  await harness.synced(aPod());
  assert.deepEqual(harness.runtime.calls.slice(notStarted.length), ['createContainer app 0', 'startContainer app']);
});

test('nor is one whose hosts file cannot be written, and it says why it waits', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('write hosts 10.0.0.1', new Error('no space left'));
  const { result } = await harness.synced(aPod());
  assert.deepEqual(result.waiting, { app: { reason: 'CreateContainerConfigError', message: 'no space left' } });
  assert.deepEqual(harness.runtime.calls, notStarted);
});

test('what a task tells goes along with its next question, or home with its result', async () => {
  using harness = new PodSyncHarness();
  const { channel } = await harness.synced(aPod());
  assert.deepEqual(channel.messages, [
    'startPermit',
    'podObjects',
    'ensureImage',
    'releasePermit,startPermit',
    'event,event,releasePermit',
  ]);
});

test('the permit that came with a task is passed on to the first container, unless that is not ready', async () => {
  using harness = new PodSyncHarness();
  const passed = await harness.synced(aPod(), { hasSandboxPermit: true });
  assert.deepEqual(passed.channel.messages, ['podObjects', 'ensureImage', 'transferPermit,event', 'event,releasePermit']);
  const env = [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  const waiting = aPod({ containers: [aContainer('app', { env })] }, { uid: 'uid-2' });
  const { channel } = await harness.synced(waiting, { hasSandboxPermit: true });
  assert.deepEqual(channel.messages.slice(2), ['releasePermit', 'startPermit', 'event,event,releasePermit']);
});

test('every start has a permit, which is given back', async () => {
  using harness = new PodSyncHarness();
  const { channel } = await harness.synced(aPod());
  const permits = channel.requests.flatMap((request) => {
    if (request.type === 'startPermit') return [`${request.kind} ${request.id}`];
    return request.type === 'releasePermit' ? [`return ${request.id} ${request.succeeded}`] : [];
  });
  const [sandbox, container] = new Set(permits.map((permit) => /\d+/.exec(permit)![0]));
  assert.deepEqual(permits, [`sandbox ${sandbox}`, `return ${sandbox} true`, `container ${container}`, `return ${container} true`]);
});

test('a sandbox is made beside volumes that need not be waited for, and containers wait for both', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('mount volumes', new Error('no luck'));
  const { result } = await harness.synced(aPod(), { dependenciesReady: true });
  assert.deepEqual(harness.runtime.calls, ['runPodSandbox 0']);
  assert.equal(result.outcome === 'failed' && result.failure.reason, 'FailedMount');
  harness.failures.clear();
  await harness.synced(aPod(), { dependenciesReady: true });
  assert.deepEqual(harness.runtime.calls.slice(1), ['createContainer app 0', 'startContainer app']);
});

test('a pod that runs as it should is not touched', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  harness.runtime.calls.length = 0;
  const { result, channel } = await harness.synced(aPod());
  assert.deepEqual(harness.runtime.calls, []);
  assert.deepEqual(channel.requests, []);
  assert.equal(result.changedRuntime, false);
});

test('a pod waits for the network, unless it is in that of the host', async () => {
  using harness = new PodSyncHarness();
  harness.networkReady = false;
  const { channel, result } = await harness.synced(aPod());
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'NetworkNotReady');
  assert.deepEqual(channel.events, ['NetworkNotReady pod: network is not ready: cni plugin not initialized']);
  assert.deepEqual(harness.runtime.calls, []);
  harness.runtime.hostNetwork = true;
  assert.equal((await harness.synced(aPod({ hostNetwork: true }))).result.outcome, 'synced');
});

test('a pod in the host network does not ask for the addresses of its sandbox', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.hostNetwork = true;
  await harness.synced(aPod({ hostNetwork: true }));
  assert.ok(!harness.runtime.calls.includes('podSandboxStatus'));
});

for (const [step, event, keeps, calls] of [
  // Its cgroup is made beside its sandbox: by then its containers wait for that.
  ['make cgroup', 'FailedCreatePodContainer pod: unable to ensure pod container exists: no luck', false, ['runPodSandbox 0']],
  ['mount volumes', 'FailedMount pod: no luck', true, []],
] as const) {
  test(`a pod that fails to ${step} gets no container, and says so`, async () => {
    using harness = new PodSyncHarness();
    harness.failures.set(step, new Error('no luck'));
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off' };
    const status = { name: 'app', image: '', imageID: '', ready: false, restartCount: 1, state: { waiting } };
    const { channel, result } = await harness.synced(aPod(), { apiStatus: { containerStatuses: [status] } });
    assert.deepEqual(channel.events, [event]);
    assert.equal(result.outcome, 'failed');
    assert.deepEqual(result.waiting, keeps ? { app: waiting } : {});
    assert.deepEqual(harness.runtime.calls, calls);
  });
}

test('a volume that cannot be had is tried again soon, later each time, and the event says what it waits for', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('mount volumes', new Error('MountVolume.SetUp failed for volume "data" : secret "s" not found'));
  const delays: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const { channel, result } = await harness.synced(aPod());
    assert.deepEqual(channel.events, ['FailedMount pod: MountVolume.SetUp failed for volume "data" : secret "s" not found']);
    assert.ok(result.outcome === 'failed');
    assert.deepEqual(result.failure, {
      reason: 'FailedMount',
      message:
        'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ' +
        'MountVolume.SetUp failed for volume "data" : secret "s" not found',
    });
    delays.push(Math.round((result.retryAtMs! - harness.clock.now()) / 100));
    await harness.clock.advance(1000);
  }
  assert.ok(delays[0]! >= 5 && delays[0]! <= 6 && delays[1]! >= 10 && delays[1]! <= 11 && delays[2]! >= 20, String(delays));
  harness.failures.clear();
  await harness.synced(aPod());
  harness.failures.set('mount volumes', new Error('again'));
  const { result } = await harness.synced(aPod());
  assert.ok(result.retryAtMs! - harness.clock.now() <= 550);
});

test('a pod that has waited for a volume for two minutes says so, and for which', async () => {
  using harness = new PodSyncHarness();
  const failure = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  harness.failures.set('mount volumes', new Error(failure));
  const startedAtMs = harness.clock.now();
  for (let times = 0; times < 20; times += 1) {
    const { channel, result } = await harness.synced(aPod());
    if (channel.events.length > 1) {
      const why = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded';
      assert.deepEqual(channel.events, [`FailedMount pod: ${failure}`, `FailedMount pod: Unable to attach or mount volumes: ${why}`]);
      break;
    }
    await harness.clock.advance(result.retryAtMs! - harness.clock.now());
  }
  const waitedSeconds = (harness.clock.now() - startedAtMs) / 1000;
  assert.ok(waitedSeconds > 120 && waitedSeconds < 150, String(waitedSeconds));
});

test('a volume that is only outdated lets the pod go on, and is tried again', async () => {
  using harness = new PodSyncHarness();
  harness.outdatedVolumeMessage = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  const { channel, result } = await harness.synced(aPod());
  assert.equal(result.outcome, 'synced');
  assert.equal(channel.events[0], `FailedMount pod: ${harness.outdatedVolumeMessage}`);
  assert.ok(harness.runtime.calls.includes('startContainer app'));
  assert.ok(result.retryAtMs! - harness.clock.now() <= 550);
});

test('which volumes are in place is told once, and again when one is not', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({
    containers: [
      aContainer('app', {
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'more', mountPath: '/more' },
        ],
      }),
    ],
    volumes: [{ name: 'unused' }, { name: 'data' }, { name: 'more' }],
  });
  const told = async () => {
    const { channel } = await harness.synced(pod);
    return channel.requests.flatMap((request) => (request.type === 'volumesMounted' ? [request.volumes] : []));
  };
  harness.volumesMounted = false;
  assert.deepEqual(await told(), [['data', 'more']]);
  harness.volumesMounted = true;
  assert.deepEqual(await told(), []);
  harness.outdatedVolumeMessage = 'MountVolume.SetUp failed for volume "data" : no answer';
  assert.deepEqual(await told(), []);
  harness.outdatedVolumeMessage = null;
  harness.failures.set('mount volumes', new Error('MountVolume.SetUp failed for volume "data" : secret "s" not found'));
  assert.deepEqual(await told(), [['more']]);
});

test('a sandbox that cannot be made fails the sync, with an event', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('runPodSandbox', 'no network plugin');
  const { channel, result } = await harness.synced(aPod());
  assert.deepEqual(channel.events, [
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
  using harness = new PodSyncHarness();
  harness.runtimeHandler = { handler: 'runsc' };
  const pod = aPod({ runtimeClassName: 'gvisor' });
  const { channel } = await harness.synced(pod);
  assert.equal(harness.runtime.status('uid-1')?.sandboxes[0]?.runtimeHandler, 'runsc');
  const asked = channel.requests.find(({ type }) => type === 'ensureImage');
  assert.equal(asked?.type === 'ensureImage' && asked.image.runtimeHandler, '');
});

test('a pod whose runtime class is not there does not start, and says so', async () => {
  using harness = new PodSyncHarness();
  harness.runtimeHandler = { problem: 'runtimeclass.node.k8s.io "gvisor" not found' };
  const { channel, result } = await harness.synced(aPod({ runtimeClassName: 'gvisor' }));
  assert.deepEqual(channel.events, [
    'FailedCreatePodSandBox pod: Failed to create pod sandbox: runtimeclass.node.k8s.io "gvisor" not found',
  ]);
  assert.equal(result.outcome, 'failed');
  assert.ok(!harness.runtime.calls.some((call) => call.startsWith('runPodSandbox')));
});

test('a sandbox that died is replaced, and the containers with it', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  harness.runtime.loseSandbox();
  harness.runtime.calls.length = 0;
  const { channel } = await harness.synced(aPod());
  assert.equal(channel.events[0], 'SandboxChanged pod: Pod sandbox changed, it will be killed and re-created.');
  assert.deepEqual(harness.runtime.calls, [
    'stopPodSandbox sandbox-1',
    'runPodSandbox 1',
    'podSandboxStatus',
    'createContainer app 1',
    'startContainer app',
  ]);
});

test('a stop ends a sync that waits for a permit, and the permit is given back', async () => {
  using harness = new PodSyncHarness();
  harness.withholdsPermits = true;
  const { channel, result } = harness.sync(aPod());
  await channel.requested('startPermit');
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  const asked = channel.requests.find(({ type }) => type === 'startPermit') as { id: number };
  assert.deepEqual(channel.requests.at(-1), { type: 'releasePermit', id: asked.id, succeeded: false });
  assert.deepEqual(harness.runtime.calls, []);
});

test('a stopped sync whose sandbox failed has main look, since there may be one even so', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = harness.sync(aPod());
  harness.runtime.failNext('runPodSandbox', 'deadline exceeded');
  await channel.requested('startPermit');
  channel.post({ type: 'stop' });
  const { outcome, changedRuntime } = await result;
  assert.deepEqual([outcome, changedRuntime], ['stopped', true]);
});

test('a sandbox that the runtime does not make is given up when its pod ends, and not when the kubelet stops', async () => {
  using harness = new PodSyncHarness();
  const begun = Promise.withResolvers<AbortSignal>();
  harness.runtime.runPodSandbox = (_config, _handler, signal) => {
    begun.resolve(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new CriError('RunPodSandbox', 1, 'cancelled'))));
  };
  const { channel, result } = harness.sync(aPod());
  const signal = await begun.promise;
  channel.post({ type: 'stop' });
  assert.equal(signal.aborted, false);
  channel.post({ type: 'stop', podEnds: true });
  const { outcome, changedRuntime } = await result;
  assert.deepEqual([outcome, changedRuntime], ['stopped', true]);
  assert.deepEqual(channel.events, []);
});

test('a line that dies stops the sync', async () => {
  using harness = new PodSyncHarness();
  harness.withholdsPermits = true;
  const { channel, result } = harness.sync(aPod());
  await channel.requested('startPermit');
  channel.close();
  assert.equal((await result).outcome, 'stopped');
});

test('a stop does not come between the creation of a container and its start', async () => {
  using harness = new PodSyncHarness();
  const run = harness.sync(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const createContainer = harness.runtime.createContainer.bind(harness.runtime);
  harness.runtime.createContainer = (...args) => {
    run.channel.post({ type: 'stop' });
    return createContainer(...args);
  };
  assert.equal((await run.result).outcome, 'stopped');
  assert.deepEqual(harness.runtime.calls.slice(-3), ['createContainer a 0', 'podSandboxStatus', 'startContainer a']);
});

test('a container of a changed definition is killed and started again', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel } = await harness.synced(changed);
  assert.equal(channel.events[0], 'Killing spec.containers{app}: Container app definition changed, will be restarted');
  assert.deepEqual(harness.runtime.calls.slice(-3), ['stopContainer app 30', 'createContainer app 1', 'startContainer app']);
});

test('a pod that ran outside of a cgroup of its own is killed, and comes back inside', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  harness.hasCgroup = false;
  const running = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
  const { result } = await harness.synced(aPod(), { apiStatus: { containerStatuses: [running] } });
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(harness.runtime.calls.slice(-2), ['stopContainer app 30', 'stopPodSandbox sandbox-1']);
  await harness.synced(aPod());
  assert.equal(harness.hasCgroup, true);
  assert.deepEqual(harness.runtime.calls.slice(-2), ['createContainer app 1', 'startContainer app']);
});

test('when all containers restart they are removed, and the next sync comes at once', async () => {
  using harness = new PodSyncHarness();
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
  const pod = aPod({ containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [rule] }), aContainer('b')] });
  await harness.synced(pod);
  harness.runtime.exit('a', 88);
  const conditions = [{ type: 'AllContainersRestarting', status: 'True' }];
  const { result } = await harness.synced(pod, { apiStatus: { conditions } });
  assert.deepEqual(harness.runtime.calls.slice(-3), ['stopContainer b 2', 'removeContainer b-3', 'removeContainer a-2']);
  assert.equal(result.retryAtMs, harness.clock.now());
});

test('a sysctl that the node does not allow keeps the pod from starting', async () => {
  using harness = new PodSyncHarness();
  const sysctls = [{ name: 'kernel.msgmax', value: '65536' }];
  const { channel, result } = await harness.synced(aPod({ securityContext: { sysctls } }));
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'SysctlForbidden');
  assert.match(channel.events[0]!, /^SysctlForbidden pod: forbidden sysctl: "kernel.msgmax"/);
  assert.deepEqual(harness.runtime.calls, []);
});
