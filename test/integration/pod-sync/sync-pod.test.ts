import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CriError } from '../../../src/shared/cri/cri-error.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

const started = ['Created spec.containers{app}: Container created', 'Started spec.containers{app}: Container started'];

test('a new pod gets its folders, volumes, cgroup, sandbox and container in this order', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = await harness.syncToEnd(aPod());
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

test('a container is created while the pod IPs are read, unless its environment contains them', async () => {
  using harness = new PodSyncHarness();
  const env = [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  await harness.syncToEnd(aPod({ containers: [aContainer('app', { env })] }));
  assert.deepEqual(harness.runtime.calls, ['runPodSandbox 0', 'podSandboxStatus', 'createContainer app 0', 'startContainer app']);
  assert.deepEqual(harness.runtime.containerConfigs[0]?.envs, [{ key: 'IP', value: new TextEncoder().encode('10.0.0.1') }]);
  assert.ok(!harness.effects.some((effect) => effect.startsWith('write hosts')), 'the mounts were made with the IPs');
});

const notStarted = ['runPodSandbox 0', 'createContainer app 0', 'podSandboxStatus', 'removeContainer app-2'];

test('a container that was created before the pod IPs could not be read is removed and does not count', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('podSandboxStatus', 'gone');
  const { channel, result } = await harness.syncToEnd(aPod({ containers: [aContainer('app'), aContainer('other')] }));
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'FailedPodSandBoxStatus');
  assert.ok(channel.events.some((event) => event.startsWith('FailedPodSandBoxStatus pod: Unable to get pod sandbox status: ')));
  assert.deepEqual(harness.runtime.calls, notStarted);
  await harness.syncToEnd(aPod());
  assert.deepEqual(harness.runtime.calls.slice(notStarted.length), ['createContainer app 0', 'startContainer app']);
});

test('a container whose hosts file cannot be written is removed and waits with CreateContainerConfigError', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('write hosts 10.0.0.1', new Error('no space left'));
  const { result } = await harness.syncToEnd(aPod());
  assert.deepEqual(result.waiting, { app: { reason: 'CreateContainerConfigError', message: 'no space left' } });
  assert.deepEqual(harness.runtime.calls, notStarted);
});

test('notifications are sent with the next request or with the result', async () => {
  using harness = new PodSyncHarness();
  const { channel } = await harness.syncToEnd(aPod());
  assert.deepEqual(channel.messages, [
    'startPermit',
    'podObjects',
    'ensureImage',
    'releasePermit,startPermit',
    'event,event,releasePermit',
  ]);
});

test('the phases of a start are reported with its other messages', async () => {
  using harness = new PodSyncHarness();
  const lifecycle = { postStart: { exec: { command: ['true'] } } };
  const { channel } = await harness.syncToEnd(aPod({ containers: [aContainer('app', { lifecycle })] }));
  const expected = ['Sandbox', 'Volumes', 'Create app', 'Start app', 'PostStart app'];
  assert.deepEqual(
    channel.phases.filter((phase) => phase.startsWith('begin')).toSorted(),
    expected.map((name) => `begin ${name}`).toSorted(),
  );
  assert.deepEqual(
    channel.phases.filter((phase) => !phase.startsWith('begin')).toSorted(),
    expected.map((name) => `end ${name}`).toSorted(),
  );
});

test('the start permit of a task is transferred to the first container if its config is ready', async () => {
  using harness = new PodSyncHarness();
  const transferred = await harness.syncToEnd(aPod(), { hasSandboxPermit: true });
  assert.deepEqual(transferred.channel.messages, ['podObjects', 'ensureImage', 'transferPermit,event', 'event,releasePermit']);
  const env = [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  const waiting = aPod({ containers: [aContainer('app', { env })] }, { uid: 'uid-2' });
  const { channel } = await harness.syncToEnd(waiting, { hasSandboxPermit: true });
  assert.deepEqual(channel.messages.slice(2), ['releasePermit', 'startPermit', 'event,event,releasePermit']);
});

test('every start takes a permit and releases it', async () => {
  using harness = new PodSyncHarness();
  const { channel } = await harness.syncToEnd(aPod());
  const permits = channel.requests.flatMap((request) => {
    if (request.type === 'startPermit') return [`${request.kind} ${request.id}`];
    return request.type === 'releasePermit' ? [`return ${request.id} ${request.succeeded}`] : [];
  });
  const [sandbox, container] = new Set(permits.map((permit) => /\d+/.exec(permit)![0]));
  assert.deepEqual(permits, [`sandbox ${sandbox}`, `return ${sandbox} true`, `container ${container}`, `return ${container} true`]);
});

test('a pod whose containers all run is not changed', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.calls.length = 0;
  const { result, channel } = await harness.syncToEnd(aPod());
  assert.deepEqual(harness.runtime.calls, []);
  assert.deepEqual(channel.requests, []);
  assert.equal(result.changedRuntime, false);
});

test("a pod waits for the network, unless it uses the host's", async () => {
  using harness = new PodSyncHarness();
  harness.networkReady = false;
  const { channel, result } = await harness.syncToEnd(aPod());
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'NetworkNotReady');
  assert.deepEqual(channel.events, ['NetworkNotReady pod: network is not ready: cni plugin not initialized']);
  assert.deepEqual(harness.runtime.calls, []);
  harness.runtime.hostNetwork = true;
  assert.equal((await harness.syncToEnd(aPod({ hostNetwork: true }))).result.outcome, 'synced');
});

test("the IPs of the sandbox are not read for a pod in the host's network", async () => {
  using harness = new PodSyncHarness();
  harness.runtime.hostNetwork = true;
  await harness.syncToEnd(aPod({ hostNetwork: true }));
  assert.ok(!harness.runtime.calls.includes('podSandboxStatus'));
});

for (const [step, event, keeps, calls] of [
  // The cgroup is created together with the sandbox, after the waiting reasons were reset.
  ['make cgroup', 'FailedCreatePodContainer pod: unable to ensure pod container exists: no luck', false, ['runPodSandbox 0']],
  ['mount volumes', 'FailedMount pod: no luck', true, []],
] as const) {
  test(`a pod that fails to ${step} gets no container, and an event has the reason`, async () => {
    using harness = new PodSyncHarness();
    harness.failures.set(step, new Error('no luck'));
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off' };
    const status = { name: 'app', image: '', imageID: '', ready: false, restartCount: 1, state: { waiting } };
    const { channel, result } = await harness.syncToEnd(aPod(), { apiStatus: { containerStatuses: [status] } });
    assert.deepEqual(channel.events, [event]);
    assert.equal(result.outcome, 'failed');
    assert.deepEqual(result.waiting, keeps ? { app: waiting } : {});
    assert.deepEqual(harness.runtime.calls, calls);
  });
}

test('a sandbox that cannot be created fails the sync, with an event', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('runPodSandbox', 'no network plugin');
  const { channel, result } = await harness.syncToEnd(aPod());
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

test('a sandbox is created with the handler of the RuntimeClass, and image calls do not have it', async () => {
  using harness = new PodSyncHarness();
  harness.runtimeHandler = { handler: 'runsc' };
  const pod = aPod({ runtimeClassName: 'gvisor' });
  const { channel } = await harness.syncToEnd(pod);
  assert.equal(harness.runtime.status('uid-1')?.sandboxes[0]?.runtimeHandler, 'runsc');
  const imageRequest = channel.requests.find(({ type }) => type === 'ensureImage');
  assert.equal(imageRequest?.type === 'ensureImage' && imageRequest.image.runtimeHandler, '');
});

test('a pod whose RuntimeClass does not exist does not start, and an event has the reason', async () => {
  using harness = new PodSyncHarness();
  harness.runtimeHandler = { problem: 'runtimeclass.node.k8s.io "gvisor" not found' };
  const { channel, result } = await harness.syncToEnd(aPod({ runtimeClassName: 'gvisor' }));
  assert.deepEqual(channel.events, [
    'FailedCreatePodSandBox pod: Failed to create pod sandbox: runtimeclass.node.k8s.io "gvisor" not found',
  ]);
  assert.ok(result.outcome === 'failed');
  assert.equal(
    result.failure.message,
    'failed to "CreatePodSandbox" for "web_default(uid-1)" with CreatePodSandboxError: ' +
      '"Failed to generate sandbox config for pod \\"web_default(uid-1)\\": runtimeclass.node.k8s.io \\"gvisor\\" not found"',
  );
  assert.ok(!harness.runtime.calls.some((call) => call.startsWith('runPodSandbox')));
});

test('a dead sandbox is replaced, with its containers', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.loseSandbox();
  harness.runtime.calls.length = 0;
  const { channel } = await harness.syncToEnd(aPod());
  assert.equal(channel.events[0], 'SandboxChanged pod: Pod sandbox changed, it will be killed and re-created.');
  assert.deepEqual(harness.runtime.calls, [
    'stopPodSandbox sandbox-1',
    'runPodSandbox 1',
    'podSandboxStatus',
    'createContainer app 1',
    'startContainer app',
  ]);
});

test('a stop ends a sync that waits for a permit, and the permit is released', async () => {
  using harness = new PodSyncHarness();
  harness.withholdsPermits = true;
  const { channel, result } = harness.startSync(aPod());
  await channel.requested('startPermit');
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  const permitRequest = channel.requests.find(({ type }) => type === 'startPermit') as { id: number };
  assert.deepEqual(channel.requests.at(-1), { type: 'releasePermit', id: permitRequest.id, succeeded: false });
  assert.deepEqual(harness.runtime.calls, []);
});

test('a stopped sync whose sandbox failed requests an inspection, since the sandbox may exist', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = harness.startSync(aPod());
  harness.runtime.failNext('runPodSandbox', 'deadline exceeded');
  await channel.requested('startPermit');
  channel.post({ type: 'stop' });
  const { outcome, changedRuntime } = await result;
  assert.deepEqual([outcome, changedRuntime], ['stopped', true]);
});

test('the creation of a sandbox is cancelled when the pod is deleted, and not when the kubelet stops', async () => {
  using harness = new PodSyncHarness();
  const callStarted = Promise.withResolvers<AbortSignal>();
  harness.runtime.runPodSandbox = (_config, _handler, signal) => {
    callStarted.resolve(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new CriError('RunPodSandbox', 1, 'cancelled'))));
  };
  const { channel, result } = harness.startSync(aPod());
  const signal = await callStarted.promise;
  channel.post({ type: 'stop' });
  assert.equal(signal.aborted, false);
  channel.post({ type: 'stop', podEnds: true });
  const { outcome, changedRuntime } = await result;
  assert.deepEqual([outcome, changedRuntime], ['stopped', true]);
  assert.deepEqual(channel.events, []);
});

test('a closed task channel stops the sync', async () => {
  using harness = new PodSyncHarness();
  harness.withholdsPermits = true;
  const { channel, result } = harness.startSync(aPod());
  await channel.requested('startPermit');
  channel.close();
  assert.equal((await result).outcome, 'stopped');
});

test('a stop does not come between the creation of a container and its start', async () => {
  using harness = new PodSyncHarness();
  const run = harness.startSync(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const createContainer = harness.runtime.createContainer.bind(harness.runtime);
  harness.runtime.createContainer = (...args) => {
    run.channel.post({ type: 'stop' });
    return createContainer(...args);
  };
  assert.equal((await run.result).outcome, 'stopped');
  assert.deepEqual(harness.runtime.calls.slice(-3), ['createContainer a 0', 'podSandboxStatus', 'startContainer a']);
});

test('a container with a changed definition is killed and started again', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel } = await harness.syncToEnd(changed);
  assert.equal(channel.events[0], 'Killing spec.containers{app}: Container app definition changed, will be restarted');
  assert.deepEqual(harness.runtime.calls.slice(-3), ['stopContainer app 30', 'createContainer app 1', 'startContainer app']);
});

test('a pod that runs without its own cgroup is killed, and starts again with one', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.hasCgroup = false;
  const running = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
  const { result } = await harness.syncToEnd(aPod(), { apiStatus: { containerStatuses: [running] } });
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(harness.runtime.calls.slice(-2), ['stopContainer app 30', 'stopPodSandbox sandbox-1']);
  await harness.syncToEnd(aPod());
  assert.equal(harness.hasCgroup, true);
  assert.deepEqual(harness.runtime.calls.slice(-2), ['createContainer app 1', 'startContainer app']);
});

test('RestartAllContainers removes all containers, and the next sync follows at once', async () => {
  using harness = new PodSyncHarness();
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
  const pod = aPod({ containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [rule] }), aContainer('b')] });
  await harness.syncToEnd(pod);
  harness.runtime.exit('a', 88);
  // The reset waits a second after the exit.
  await harness.clock.advance(1000);
  const conditions = [{ type: 'AllContainersRestarting', status: 'True' }];
  const { result } = await harness.syncToEnd(pod, { apiStatus: { conditions } });
  assert.deepEqual(harness.runtime.calls.slice(-3), ['stopContainer b 2', 'removeContainer b-3', 'removeContainer a-2']);
  assert.equal(result.retryAtMs, harness.clock.now());
});

test('a pod with a forbidden sysctl does not start', async () => {
  using harness = new PodSyncHarness();
  const sysctls = [{ name: 'kernel.msgmax', value: '65536' }];
  const { channel, result } = await harness.syncToEnd(aPod({ securityContext: { sysctls } }));
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'SysctlForbidden');
  assert.match(channel.events[0]!, /^SysctlForbidden pod: forbidden sysctl: "kernel.msgmax"/);
  assert.deepEqual(harness.runtime.calls, []);
});

test('a pod with resource claims does not start, and an event has the reason', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = await harness.syncToEnd(aPod({ resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu-1' }] }));
  const message = 'Failed to prepare dynamic resources: this kubelet cannot prepare resource claims (gpu)';
  assert.deepEqual(channel.events, [`FailedPrepareDynamicResources pod: ${message}`]);
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'FailedPrepareDynamicResources');
  assert.deepEqual(harness.runtime.calls, []);
});
