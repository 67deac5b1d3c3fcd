import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../../../../src/shared/cri/cri-error.ts';
import { ensureImageRequests } from '../../../../../src/shared/metrics/definitions/images.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aManager, notFound, reasons } from '../../../../support/runtime/image-manager.ts';
import { table } from '../../../../support/table.ts';

const cases: { name: string; image: string; policy: string; present?: string[]; failWith?: Error; want: string; pulls: string[] }[] = [
  { name: 'that is present is not pulled', image: 'app:1', policy: 'IfNotPresent', present: ['app:1'], want: 'id-app:1 Pulled', pulls: [] },
  { name: 'that is missing is pulled', image: 'app:1', policy: 'IfNotPresent', want: 'ref-app:1 Pulling Pulled', pulls: ['app:1'] },
  {
    name: 'without a tag is requested as latest',
    image: 'app',
    policy: 'IfNotPresent',
    want: 'ref-app:latest Pulling Pulled',
    pulls: ['app:latest'],
  },
  {
    name: 'with policy Always is pulled even when present',
    image: 'app:1',
    policy: 'Always',
    present: ['app:1'],
    want: 'ref-app:1 Pulling Pulled',
    pulls: ['app:1'],
  },
  {
    name: 'with policy Never fails when missing',
    image: 'app:1',
    policy: 'Never',
    want: 'ErrImageNeverPull ErrImageNeverPull',
    pulls: [],
  },
  {
    name: 'with an invalid name is never requested',
    image: 'App:1',
    policy: 'IfNotPresent',
    want: 'InvalidImageName InspectFailed',
    pulls: [],
  },
  {
    name: 'fails when the inspection fails',
    image: 'app:1',
    policy: 'IfNotPresent',
    failWith: notFound,
    want: 'ImageInspectError InspectFailed',
    pulls: [],
  },
  {
    name: 'fails when the pull fails',
    image: 'app:1',
    policy: 'Always',
    failWith: notFound,
    want: 'ErrImagePull Pulling Failed',
    pulls: ['app:1'],
  },
  {
    name: 'fails with RegistryUnavailable when its registry is unavailable',
    image: 'app:1',
    policy: 'Always',
    failWith: new CriError('PullImage', 2, 'RegistryUnavailable: no route'),
    want: 'RegistryUnavailable Pulling Failed',
    pulls: ['app:1'],
  },
];
table('the pull policy decides whether an image is pulled', (row) => {
  for (const { name, image, policy, present = [], failWith, want, pulls } of cases) {
    row(`an image ${name}`, async () => {
      const { images, ensure } = aManager();
      for (const each of present) images.present.add(each);
      images.failWith = failWith;
      assert.equal(reasons(await ensure(image, { imagePullPolicy: policy })), want);
      assert.deepEqual(images.pulls, pulls);
    });
  }
});

test('a failed pull backs off from 10 s to 5 min per pod and reports the last error', async () => {
  const { images, clock, ensure } = aManager();
  const always = { imagePullPolicy: 'Always' };
  images.failWith = notFound;
  const delays: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const failed = await ensure('app:1', always);
    assert.equal(reasons(failed), 'ErrImagePull Pulling Failed');
    assert.equal(failed.outcome === 'failed' && failed.failure.retryAfterMs, 1000);
    const waiting = await ensure('app:1', always);
    assert.equal(reasons(waiting), 'ImagePullBackOff BackOff');
    assert.ok(waiting.outcome === 'failed');
    assert.equal(
      waiting.failure.message,
      'Back-off pulling image "app:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image',
    );
    delays.push(waiting.failure.retryAfterMs ?? 0);
    await clock.advance(waiting.failure.retryAfterMs ?? 0);
  }
  assert.deepEqual(delays, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  await ensure('app:1', always);
  assert.equal(reasons(await ensure('app:1', { ...always, podUID: 'other' as never })), 'ErrImagePull Pulling Failed');
});

test('concurrent requests for the same image share one pull', async () => {
  const { images, ensure } = aManager();
  images.blocksPulls = true;
  const waiting = [ensure('app:1'), ensure('app:1', { podUID: 'other' as never }), ensure('app')];
  await settle();
  assert.deepEqual(images.pulls, ['app:1', 'app:latest']);
  images.finish('app:1');
  images.finish('app:latest');
  assert.deepEqual((await Promise.all(waiting)).map(reasons), [
    'ref-app:1 Pulling Pulled',
    'ref-app:1 Pulling Pulled',
    'ref-app:latest Pulling Pulled',
  ]);
});

test('pulls run in the order of their requests, and a present image never waits for them', async () => {
  const { images, ensure } = aManager({ parallelPulls: 1 });
  images.blocksPulls = true;
  images.present.add('here:1');
  const first = ensure('slow:1');
  const second = ensure('next:1');
  await settle();
  assert.deepEqual(images.pulls, ['slow:1']);
  assert.equal(reasons(await ensure('here:1')), 'id-here:1 Pulled');
  images.finish('slow:1', notFound);
  assert.equal(reasons(await first), 'ErrImagePull Pulling Failed');
  await settle();
  images.finish('next:1');
  assert.equal(reasons(await second), 'ref-next:1 Pulling Pulled');
});

test('pulls above the QPS are rejected until the bucket refills', async () => {
  const { clock, ensure } = aManager({ pullsPerSecond: 1, pullBurst: 2 });
  const pull = (image: string) => ensure(image).then(reasons);
  assert.deepEqual(
    [await pull('a:1'), await pull('b:1'), await pull('c:1')],
    ['ref-a:1 Pulling Pulled', 'ref-b:1 Pulling Pulled', 'ErrImagePull Pulling Failed'],
  );
  await clock.advance(1000);
  assert.equal(await pull('d:1'), 'ref-d:1 Pulling Pulled');
});

test('the Pulling event is sent while the pull runs', async () => {
  const { images, ensure, events } = aManager();
  images.blocksPulls = true;
  const pulling = ensure('app:1');
  await settle();
  assert.deepEqual(
    events.map(({ reason, message, object }) => `${reason} ${object.fieldPath ?? ''} ${message}`),
    ['Pulling spec.containers{app} Pulling image "app:1"'],
  );
  images.finish('app:1');
  await pulling;
});

test('every request is counted, with the label unknown for undetermined facts', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  const { images, ensure } = aManager();
  images.present.add('here:1');
  await ensure('here:1');
  await ensure('pulled:1');
  await ensure('here:1', { imagePullPolicy: 'Always' });
  await ensure('absent:1', { imagePullPolicy: 'Never' });
  await ensure('not valid');
  images.failWith = new CriError('ImageStatus', 14, 'away');
  await ensure('here:1');
  const lines = renderMetrics([segment], [ensureImageRequests]).split('\n');
  const counted = lines.flatMap((line) => line.match(/"[^"]*"| \d+$/g)?.join('') ?? []);
  assert.deepEqual(counted.toSorted(), [
    '"false""ifnotpresent""true" 1',
    '"false""never""unknown" 1',
    '"true""ifnotpresent""false" 1',
    '"unknown""always""true" 1',
    '"unknown""ifnotpresent""unknown" 2',
  ]);
});
