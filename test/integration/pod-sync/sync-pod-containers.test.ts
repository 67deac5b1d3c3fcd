import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aContainer, aPod, aSidecar } from '../../support/pod-sync-samples.ts';
import { SyncBench } from '../../support/pod-sync-harness.ts';

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

test('before a running container is stopped to be started again, main is asked', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  const running = bench.runtime.status('uid-1')!.containers[0]!;
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { line } = await bench.synced(changed);
  assert.deepEqual(
    line.requests.flatMap((request) => (request.type === 'beginRestart' ? request.containers : [])),
    [running.id],
  );
  assert.deepEqual(
    bench.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running', 'exited'],
  );
});

test('a container that has ended by itself meanwhile is neither stopped nor started by that task', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  const changed = aPod({ containers: [aContainer('app', { image: 'registry.example/app:2' })] });
  const { line, result } = bench.sync(changed);
  line.allowsRestarts = false;
  const { outcome, changedRuntime } = await result;
  // Main inspects the pod, and decides anew.
  assert.deepEqual([outcome, changedRuntime], ['synced', true]);
  assert.deepEqual(
    bench.runtime.status('uid-1')!.containers.map(({ state }) => state),
    ['running'],
  );
});

test('main hears why a container cannot be started before the next one is', async () => {
  using bench = new SyncBench();
  const failure = { reason: 'ErrImagePull', message: 'no such image' };
  bench.images.set('registry.example/a:1', { outcome: 'failed', failure });
  const { line } = await bench.synced(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const kinds = line.requests.map((request) =>
    request.type === 'waiting' ? `${request.container} ${request.why.reason}` : request.type === 'event' ? request.event.reason : '',
  );
  const order = kinds.filter((kind) => ['Failed', 'a ErrImagePull', 'Created'].includes(kind));
  assert.deepEqual([order[0], order[1], order.at(-1)], ['Failed', 'a ErrImagePull', 'Created']);
});
