import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aContainer, aPod, aSidecar } from '../../support/pods/pod-sync-samples.ts';
import { settle } from '../../support/fake-clock.ts';
import { LargeWorkError, maxLargeBytes, maxSmallBytes } from '../../../src/workers/pod-sync/pod/large-work.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

test('the failure of one container does not prevent the start of the others', async () => {
  using harness = new PodSyncHarness();
  harness.images.set('registry.example/a:1', {
    outcome: 'failed',
    failure: { reason: 'ImagePullBackOff', message: 'Back-off pulling image', retryAfterMs: 5000 },
  });
  harness.runtime.failNext('createContainer', 'no such device');
  const pod = aPod({ containers: [aContainer('a'), aContainer('b'), aContainer('c')] });
  const { channel, result } = await harness.syncToEnd(pod);
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

test('images are pulled with the existing pull secrets, and without the missing ones', async () => {
  using harness = new PodSyncHarness();
  const config = (auths: object) => ({ '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') });
  const usable = { 'registry.example': { auth: 'YTpi' } };
  const data = config({ ...usable, 'other.example': { auth: 'Yzpk' } });
  const secret = { kind: 'Secret', uid: 'u', type: 'kubernetes.io/dockerconfigjson', data } as const;
  harness.podObjects.set('Secret existing', { outcome: 'value', value: secret });
  harness.podObjects.set('Secret gone', { outcome: 'failed', failure: { reason: 'NotFound', message: 'secret "gone" not found' } });
  const image = 'registry.example/app:1';
  const imagePullSecrets = [{ name: 'existing' }, {}, { name: 'gone' }];
  const { channel } = await harness.syncToEnd(
    aPod({ imagePullSecrets, containers: [aContainer('a', { image }), aContainer('b', { image })] }),
  );
  const imageRequests = channel.requests.flatMap((request) => (request.type === 'ensureImage' ? [request.image] : []));
  assert.deepEqual(
    imageRequests.map(({ pullCredentials: { credentials } }) => credentials.map(({ login, secret: origin }) => [login.username, origin])),
    Array.from({ length: 2 }, () => [['a', { namespace: 'default', name: 'existing', uid: 'u' }]]),
  );
  assert.deepEqual(
    imageRequests.map(({ about }) => about?.fieldPath),
    ['spec.containers{a}', 'spec.containers{b}'],
  );
  assert.deepEqual(
    channel.events.filter((event) => event.includes('pull secrets')),
    [],
  );
});

test('a sync in which a pull fails records one event that names the missing pull secrets', async () => {
  using harness = new PodSyncHarness();
  harness.podObjects.set('Secret gone', { outcome: 'failed', failure: { reason: 'NotFound', message: 'secret "gone" not found' } });
  const image = 'registry.example/app:1';
  harness.images.set(image, { outcome: 'failed', failure: { reason: 'ErrImagePull', message: 'no such image' } });
  const containers = [aContainer('a', { image }), aContainer('b', { image })];
  const { channel } = await harness.syncToEnd(aPod({ imagePullSecrets: [{ name: 'gone' }], containers }));
  assert.deepEqual(
    channel.events.filter((event) => event.includes('pull secrets')),
    [
      'FailedToRetrieveImagePullSecret pod: ' +
        'Unable to retrieve some image pull secrets (gone); attempting to pull the image may not succeed.',
    ],
  );
});

test("the event of a failed start contains the runtime's reason without the container ID", async () => {
  using harness = new PodSyncHarness();
  harness.runtime.failNext('startContainer', 'container app-2: exec: "nope": not found');
  const { channel, result } = await harness.syncToEnd(aPod());
  assert.equal(channel.events.at(-1), 'Failed spec.containers{app}: Error: container app: exec: "nope": not found');
  assert.deepEqual(Object.keys(result.waiting), ['app']);
  assert.equal(result.waiting['app']?.reason, 'RunContainerError');
});

test('a container whose config cannot be made waits with CreateContainerConfigError and is not created', async () => {
  using harness = new PodSyncHarness();
  const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }];
  const { result } = await harness.syncToEnd(aPod({ containers: [aContainer('app', { env })] }));
  assert.equal(result.waiting['app']?.reason, 'CreateContainerConfigError');
  assert.ok(!harness.runtime.calls.some((call) => call.startsWith('createContainer')));
});

test('a failed init container blocks the following containers, and a failed sidecar does not', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({ initContainers: [aSidecar('s'), aContainer('i')] });
  harness.runtime.failNext('startContainer');
  await harness.syncToEnd(pod);
  assert.deepEqual(
    harness.runtime.status('uid-1')?.containers.map(({ name, state }) => `${name} ${state}`),
    ['s created'],
  );
  await harness.syncToEnd(pod);
  await harness.syncToEnd(pod);
  harness.runtime.exit('i', 0);
  await harness.syncToEnd(pod);
  assert.deepEqual(
    harness.runtime
      .status('uid-1')
      ?.containers.filter(({ state }) => state === 'running')
      .map(({ name }) => name),
    ['app', 's'],
  );
});

test('a container that keeps crashing waits longer each time, and the result has the time of the next start', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.exit('app', 1);
  const first = await harness.syncToEnd(aPod());
  assert.equal(first.result.outcome, 'synced');
  await harness.clock.advance(1000);
  harness.runtime.exit('app', 1);
  const exitedAt = harness.clock.now();
  await harness.clock.advance(1000);
  const second = await harness.syncToEnd(aPod());
  assert.ok(second.result.outcome === 'failed' && second.result.failure.reason === 'CrashLoopBackOff');
  assert.deepEqual(second.result.waiting, {
    app: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=app pod=web_default(uid-1)' },
  });
  assert.equal(second.result.retryAtMs, exitedAt + 10_000);
  assert.deepEqual(second.channel.events, [
    'BackOff spec.containers{app}: Back-off restarting failed container app in pod web_default(uid-1)',
  ]);
  await harness.clock.advance(9000);
  assert.equal((await harness.syncToEnd(aPod())).result.outcome, 'synced');
  assert.deepEqual(
    harness.backoffs.map(({ backoffMs }) => backoffMs),
    [20_000],
  );
});

test('only the newest dead instance of an init container is kept, and the logs of the others are removed', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({ initContainers: [aContainer('i')] });
  const logs = join(harness.settings.podLogsDir, 'default_web_uid-1/i');
  mkdirSync(logs, { recursive: true });
  await harness.syncToEnd(pod);
  for (const count of [0, 1, 2]) {
    writeFileSync(join(logs, `${count}.log`), '');
    harness.runtime.exit('i', 1);
    harness.runtime.change('i', { logPath: join(logs, `${count}.log`) });
    await harness.clock.advance(400_000);
    await harness.syncToEnd(pod);
  }
  const instances = harness.runtime.status('uid-1')?.containers.map(({ restartCount }) => restartCount);
  assert.deepEqual(instances, [3, 2]);
  assert.ok(!existsSync(join(logs, '0.log')) && existsSync(join(logs, '2.log')));
});

test('the restart count continues from the log files when the runtime has forgotten its containers', async () => {
  using harness = new PodSyncHarness();
  const logs = join(harness.settings.podLogsDir, 'default_web_uid-1/app');
  mkdirSync(logs, { recursive: true });
  writeFileSync(join(logs, '4.log'), '');
  await harness.syncToEnd(aPod());
  assert.ok(harness.runtime.calls.includes('createContainer app 5'));
});

test("a container's log is linked from the flat log folder", async () => {
  using harness = new PodSyncHarness();
  mkdirSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app'), { recursive: true });
  mkdirSync(harness.settings.containerLogsDir);
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/0.log.gz'), '');
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/1.log'), '');
  await harness.syncToEnd(aPod());
  // Since 1.log exists, this is instance 2. The fake runtime does not write its log.
  assert.ok(!existsSync(join(harness.settings.containerLogsDir, 'web_default_app-app-2.log')));
  harness.runtime.exit('app', 1);
  writeFileSync(join(harness.settings.podLogsDir, 'default_web_uid-1/app/3.log'), '');
  await harness.syncToEnd(aPod());
  assert.ok(lstatSync(join(harness.settings.containerLogsDir, 'web_default_app-app-3.log')).isSymbolicLink());
});

test('a failed pull of an image volume happens once, and affects only the containers that mount it', async () => {
  using harness = new PodSyncHarness();
  const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1', pullPolicy: 'IfNotPresent' } }];
  const volumeMounts = [{ name: 'models', mountPath: '/models' }];
  const pod = aPod({ volumes, containers: [aContainer('a', { volumeMounts }), aContainer('b'), aContainer('c', { volumeMounts })] });
  const failure = { reason: 'ErrImagePull', message: 'not found' };
  harness.images.set('registry.example/models:1', { outcome: 'failed', failure });
  const { channel, result } = await harness.syncToEnd(pod);
  const paths = channel.requests.flatMap((request) => (request.type === 'ensureImage' ? [request.image.about?.fieldPath] : []));
  // The events of a volume's pull belong to the pod, those of its container's failure to the container.
  assert.deepEqual(paths, ['spec.containers{a}', undefined, 'spec.containers{b}', 'spec.containers{c}']);
  assert.ok(channel.events.includes('Failed spec.containers{a}: Error: ErrImagePull'), channel.events.join('\n'));
  assert.deepEqual(result.waiting, { a: failure, c: failure });
  assert.ok(harness.runtime.calls.includes('startContainer b'));
});

test('a container whose image mounts would multiply the annotations beyond a message waits, and no other', async () => {
  using harness = new PodSyncHarness();
  const volumes = [{ name: 'models', image: { reference: 'registry.example/models:1' } }];
  const volumeMounts = Array.from({ length: 4000 }, (_, index) => ({ name: 'models', mountPath: `/models/${index}` }));
  const plain = aPod({ volumes, containers: [aContainer('a', { volumeMounts }), aContainer('b')] });
  const { result } = await harness.syncToEnd({ ...plain, metadata: { ...plain.metadata, annotations: { a: 'x'.repeat(200_000) } } });
  assert.equal(result.waiting?.['a']?.reason, 'CreateContainerError');
  assert.match(result.waiting?.['a']?.message ?? '', /^the annotations of the pod, in each of 4000 mounts of images, take 800004000 bytes/);
  assert.ok(harness.runtime.calls.includes('startContainer b'));
});

test('the task asks main before it stops a running container in order to restart it', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  const running = harness.runtime.status('uid-1')!.containers[0]!;
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel } = await harness.syncToEnd(changed);
  assert.deepEqual(
    channel.requests.flatMap((request) => (request.type === 'beginRestart' ? request.containers : [])),
    [running.id],
  );
  assert.deepEqual(
    harness.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running', 'exited'],
  );
});

test('a container that has exited by itself meanwhile is neither stopped nor started', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { channel, result } = harness.startSync(changed);
  channel.allowsRestarts = false;
  const { outcome, changedRuntime } = await result;
  // Main inspects the pod and decides again.
  assert.deepEqual([outcome, changedRuntime], ['synced', true]);
  assert.deepEqual(
    harness.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running'],
  );
});

test('main gets the waiting reason of a container before the next container is started', async () => {
  using harness = new PodSyncHarness();
  const failure = { reason: 'ErrImagePull', message: 'no such image' };
  harness.images.set('registry.example/a:1', { outcome: 'failed', failure });
  const { channel } = await harness.syncToEnd(aPod({ containers: [aContainer('a'), aContainer('b')] }));
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

test('large environment files are read with the permission for large work', async () => {
  using harness = new PodSyncHarness();
  const reads: number[] = [];
  harness.readEnvFiles = ({ maxBytes }) => {
    reads.push(maxBytes);
    return maxBytes === maxSmallBytes ? Promise.reject(new LargeWorkError()) : Promise.resolve(new Map());
  };
  const { signal } = new AbortController();
  const others = [harness.largeWork.forTask(), harness.largeWork.forTask()];
  for (const other of others) await other.enter('a', signal);
  const { result } = harness.startSync(aPod({ containers: [aContainer('a')] }));
  await waitUntil('the files are read', () => Promise.resolve(reads.length > 0 || undefined), 5000);
  await settle();
  assert.deepEqual(reads, [maxSmallBytes]);
  others[0]?.close();
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(reads, [maxSmallBytes, maxLargeBytes]);
  await harness.largeWork.forTask().enter('b', signal);
});
