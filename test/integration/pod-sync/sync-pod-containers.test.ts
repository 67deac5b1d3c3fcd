import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aContainer, aPod, aSidecar } from '../../support/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pod-sync-harness.ts';

test("a container's failure does not keep the others from being started", async () => {
  using harness = new PodSyncHarness();
  harness.images.set('registry.example/a:1', {
    outcome: 'failed',
    failure: { reason: 'ImagePullBackOff', message: 'Back-off pulling image', retryAfterMs: 5000 },
  });
  harness.runtime.failNext('createContainer', 'no such device');
  const pod = aPod({ containers: [aContainer('a'), aContainer('b'), aContainer('c')] });
  const { channel, result } = await harness.synced(pod);
  assert.deepEqual(result.waiting, {
    a: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' },
    b: { reason: 'CreateContainerError', message: 'no such device' },
  });
  assert.equal(result.retryAtMs, harness.clock.now() + 5000);
  assert.ok(result.outcome === 'failed' && result.failure.reason === 'CreateContainerError');
  assert.deepEqual(channel.events, [
    'Failed spec.containers{a}: Error: ImagePullBackOff',
    'Failed spec.containers{b}: Error: no such device',
    'Created spec.containers{c}: Container created',
    'Started spec.containers{c}: Container started',
  ]);
});

test('images are asked for with the pull secrets that there are; what is missing is told once', async () => {
  using harness = new PodSyncHarness();
  const secret = { kind: 'Secret', uid: 'u', type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': 'e30=' } } as const;
  harness.podObjects.set('Secret there', { outcome: 'value', value: secret });
  harness.podObjects.set('Secret gone', { outcome: 'failed', failure: { reason: 'NotFound', message: 'secret "gone" not found' } });
  const imagePullSecrets = [{ name: 'there' }, {}, { name: 'gone' }];
  const { channel } = await harness.synced(aPod({ imagePullSecrets, containers: [aContainer('a'), aContainer('b')] }));
  const asked = channel.requests.flatMap((request) => (request.type === 'ensureImage' ? [request.image] : []));
  assert.deepEqual(
    asked.map(({ pullSecrets }) => pullSecrets),
    Array.from({ length: 2 }, () => [{ namespace: 'default', name: 'there', uid: 'u', type: secret.type, data: secret.data }]),
  );
  assert.deepEqual(
    asked.map(({ about }) => about?.fieldPath),
    ['spec.containers{a}', 'spec.containers{b}'],
  );
  assert.deepEqual(
    channel.events.filter((event) => event.includes('pull secrets')),
    [
      'FailedToRetrieveImagePullSecret pod: ' +
        'Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
    ],
  );
});

test('a container that the runtime cannot start says why, without naming its id', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('startContainer', 'container app-2: exec: "nope": not found');
  const { channel, result } = await harness.synced(aPod());
  assert.equal(channel.events.at(-1), 'Failed spec.containers{app}: Error: container app: exec: "nope": not found');
  assert.deepEqual(Object.keys(result.waiting), ['app']);
  assert.equal(result.waiting['app']?.reason, 'RunContainerError');
});

test('a config that cannot be had is a reason of its own, and no container is created', async () => {
  using harness = new PodSyncHarness();
  const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }];
  const { result } = await harness.synced(aPod({ containers: [aContainer('app', { env })] }));
  assert.equal(result.waiting['app']?.reason, 'CreateContainerConfigError');
  assert.ok(!harness.runtime.calls.some((call) => call.startsWith('createContainer')));
});

test('a failed init container keeps the pod from going on, a failed sidecar does not', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({ initContainers: [aSidecar('s'), aContainer('i')] });
  harness.runtime.failNext('startContainer');
  await harness.synced(pod);
  assert.deepEqual(
    harness.runtime.status('uid-1')?.containers.map(({ name, state }) => `${name} ${state}`),
    ['s created'],
  );
  await harness.synced(pod);
  await harness.synced(pod);
  harness.runtime.exit('i', 0);
  await harness.synced(pod);
  assert.deepEqual(
    harness.runtime
      .status('uid-1')
      ?.containers.filter(({ state }) => state === 'running')
      .map(({ name }) => name),
    ['app', 's'],
  );
});

test('a container that crashes again and again waits longer each time, and main hears until when', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  harness.runtime.exit('app', 1);
  const first = await harness.synced(aPod());
  assert.equal(first.result.outcome, 'synced');
  await harness.clock.advance(1000);
  harness.runtime.exit('app', 1);
  const exitedAt = harness.clock.now();
  await harness.clock.advance(1000);
  const second = await harness.synced(aPod());
  assert.ok(second.result.outcome === 'failed' && second.result.failure.reason === 'CrashLoopBackOff');
  assert.deepEqual(second.result.waiting, {
    app: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=app pod=web_default(uid-1)' },
  });
  assert.equal(second.result.retryAtMs, exitedAt + 10_000);
  assert.deepEqual(second.channel.events, [
    'BackOff spec.containers{app}: Back-off restarting failed container app in pod web_default(uid-1)',
  ]);
  await harness.clock.advance(9000);
  assert.equal((await harness.synced(aPod())).result.outcome, 'synced');
  assert.deepEqual(
    harness.backoffs.map(({ backoffMs }) => backoffMs),
    [20_000],
  );
});

test('only the last instance of a failing init container is kept, and the logs go with the others', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({ initContainers: [aContainer('i')] });
  const logs = join(harness.settings.podLogsDir, 'default_web_uid-1/i');
  mkdirSync(logs, { recursive: true });
  await harness.synced(pod);
  for (const count of [0, 1, 2]) {
    writeFileSync(join(logs, `${count}.log`), '');
    harness.runtime.exit('i', 1);
    harness.runtime.change('i', { logPath: join(logs, `${count}.log`) });
    await harness.clock.advance(400_000);
    await harness.synced(pod);
  }
  const instances = harness.runtime.status('uid-1')?.containers.map(({ restartCount }) => restartCount);
  assert.deepEqual(instances, [3, 2]);
  assert.ok(!existsSync(join(logs, '0.log')) && existsSync(join(logs, '2.log')));
});

test('the restart count goes on from the logs when the runtime has forgotten its containers', async () => {
  using harness = new PodSyncHarness();
  const logs = join(harness.settings.podLogsDir, 'default_web_uid-1/app');
  mkdirSync(logs, { recursive: true });
  writeFileSync(join(logs, '4.log'), '');
  await harness.synced(aPod());
  assert.ok(harness.runtime.calls.includes('createContainer app 5'));
});

test('the log of a container is linked from the flat log folder', async () => {
  using harness = new PodSyncHarness();
  mkdirSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app'), { recursive: true });
  mkdirSync(harness.settings.containerLogsDir);
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/0.log.gz'), '');
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/1.log'), '');
  await harness.synced(aPod());
  // 1.log exists, so that this instance is number 2, whose log the fake runtime does not write
  assert.ok(!existsSync(join(harness.settings.containerLogsDir, 'web_default_app-app-2.log')));
  harness.runtime.exit('app', 1);
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/3.log'), '');
  await harness.synced(aPod());
  assert.ok(lstatSync(join(harness.settings.containerLogsDir, 'web_default_app-app-3.log')).isSymbolicLink());
});

test('the image of an image volume is pulled for the container that mounts it', async () => {
  using harness = new PodSyncHarness();
  const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1', pullPolicy: 'IfNotPresent' } }];
  const withModels = aContainer('a', { volumeMounts: [{ name: 'models', mountPath: '/models' }] });
  const pod = aPod({ volumes, containers: [withModels, aContainer('b')] });
  const failure = { reason: 'ErrImagePull', message: 'not found' };
  harness.images.set('registry.example/models:1', { outcome: 'failed', failure });
  const { result } = await harness.synced(pod);
  assert.deepEqual(result.waiting, { a: failure });
  assert.ok(harness.runtime.calls.includes('startContainer b'));
});

test('before a running container is stopped to be started again, main is asked', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  const running = harness.runtime.status('uid-1')!.containers[0]!;
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel } = await harness.synced(changed);
  assert.deepEqual(
    channel.requests.flatMap((request) => (request.type === 'beginRestart' ? request.containers : [])),
    [running.id],
  );
  assert.deepEqual(
    harness.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running', 'exited'],
  );
});

test('a container that has ended by itself meanwhile is neither stopped nor started by that task', async () => {
  using harness = new PodSyncHarness();
  await harness.synced(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel, result } = harness.sync(changed);
  channel.allowsRestarts = false;
  const { outcome, changedRuntime } = await result;
  // Main inspects the pod, and decides anew.
  assert.deepEqual([outcome, changedRuntime], ['synced', true]);
  assert.deepEqual(
    harness.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running'],
  );
});

test('main hears why a container cannot be started before the next one is', async () => {
  using harness = new PodSyncHarness();
  const failure = { reason: 'ErrImagePull', message: 'no such image' };
  harness.images.set('registry.example/a:1', { outcome: 'failed', failure });
  const { channel } = await harness.synced(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const kinds = channel.requests.map((request) =>
    request.type === 'containerWaiting'
      ? `${request.container} ${request.waiting.reason}`
      : request.type === 'event'
        ? request.event.reason
        : '',
  );
  const order = kinds.filter((kind) => ['Failed', 'a ErrImagePull', 'Created'].includes(kind));
  assert.deepEqual([order[0], order[1], order.at(-1)], ['Failed', 'a ErrImagePull', 'Created']);
});
