import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { PullSecret } from '../../../../../src/shared/contracts/pod-objects.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../../../../../src/shared/contracts/images.ts';
import type { RecordedEvent } from '../../../../../src/shared/contracts/event.ts';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import { CriError } from '../../../../../src/shared/cri/cri-error.ts';
import { ensureImageRequests } from '../../../../../src/shared/metrics/definitions/images.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../../src/shared/metrics/index.ts';
import { ImageManager, type ImageManagerOptions } from '../../../../../src/workers/images/pulls/image-manager.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { table } from '../../../../support/table.ts';

/** An image store with a set of present and of pullable images. The test decides when a pull ends. */
class FakeImages {
  readonly present = new Set<string>();
  readonly pulls: string[] = [];
  /** The users of the pulls. Empty for anonymous pulls. */
  readonly users: string[] = [];
  /** The users that the registry accepts. Empty for a registry without authentication. */
  readonly known = new Set<string>();
  readonly #open = new Map<string, (err?: Error) => void>();
  failWith: Error | undefined;
  held = false;

  readonly call = async (method: string, request: { image?: { image?: string }; auth?: { username: string } }): Promise<unknown> => {
    const image = request.image?.image ?? '';
    if (method === 'imageStatus') {
      if (this.failWith) throw this.failWith;
      return { image: this.present.has(image) ? { id: `id-${image}`, size: 20_000_000n } : undefined };
    }
    this.pulls.push(image);
    const user = request.auth?.username ?? '';
    this.users.push(user);
    if (this.known.size > 0 && !this.known.has(user)) throw new CriError('PullImage', 7, `${user} is not allowed`);
    if (this.held) await new Promise<void>((resolve, reject) => this.#open.set(image, (err) => (err ? reject(err) : resolve())));
    if (this.failWith) throw this.failWith;
    this.present.add(image);
    return { imageRef: `ref-${image}` };
  };

  finish(image: string, err?: Error): void {
    this.#open.get(image)?.(err);
  }
}

function aManager(options: Partial<ImageManagerOptions> = {}) {
  const images = new FakeImages();
  const clock = new FakeClock();
  const told: RecordedEvent[] = [];
  const manager = new ImageManager({
    records: null,
    nodeCredentials: { current: async () => new Map() },
    onEvent: (event) => told.push(event),
    images: images as unknown as CriClient['images'],
    clock,
    runtimeRequestTimeoutMs: 1000,
    parallelPulls: null,
    pullsPerSecond: 0,
    pullBurst: 0,
    ...options,
  });
  let count = 0;
  /** Returns the events of this request only. */
  const ensure = async (image: string, fields: Partial<EnsureImageRequest> = {}): Promise<Ensured> => {
    const about = { kind: 'Pod', namespace: 'default', name: 'web', uid: `${(count += 1)}`, fieldPath: 'spec.containers{app}' };
    const result = await manager.ensureImage({
      pullSecrets: [],
      about,
      podUID: 'uid' as never,
      podName: 'web',
      podNamespace: 'default',
      containerName: 'app',
      image,
      imagePullPolicy: 'IfNotPresent',
      runtimeHandler: '',
      podAnnotations: {},
      ...fields,
    });
    return { ...result, events: told.filter(({ object }) => object.uid === about.uid) };
  };
  return { images, clock, ensure, told };
}

type Ensured = EnsureImageResult & { readonly events: readonly RecordedEvent[] };

function reasons(result: Ensured): string {
  return [result.outcome === 'present' ? result.imageRef : result.failure.reason, ...result.events.map(({ reason }) => reason)].join(' ');
}

const notFound = new CriError('PullImage', 5, 'failed to pull and unpack image');
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
table('an image is pulled, or not, as its policy says', (row) => {
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
  images.held = true;
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
  images.held = true;
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

function aPullSecret(name: string, username: string): PullSecret {
  const config = JSON.stringify({ auths: { 'r.example': { username, password: 'geheim' } } });
  const data = { '.dockerconfigjson': Buffer.from(config).toString('base64') };
  return { namespace: 'ns', name, uid: `u-${name}`, type: 'kubernetes.io/dockerconfigjson', data };
}

test('the credentials of the pod are tried in order', async () => {
  const { images, ensure } = aManager();
  images.known.add('right');
  const pullSecrets = [aPullSecret('a', 'wrong'), aPullSecret('b', 'right')];
  assert.equal(reasons(await ensure('r.example/app:1', { pullSecrets })), 'ref-r.example/app:1 Pulling Pulled');
  assert.deepEqual(images.users, ['wrong', 'right']);
  const failed = await ensure('r.example/other:1', { pullSecrets: [aPullSecret('a', 'x'), aPullSecret('b', 'y')] });
  assert.ok(failed.outcome === 'failed');
  assert.equal(
    failed.failure.message,
    '[rpc error: code = PermissionDenied desc = x is not allowed, rpc error: code = PermissionDenied desc = y is not allowed]',
  );
});

test('pods with different credentials never share a pull', async () => {
  const { images, ensure } = aManager();
  images.held = true;
  const withSecret = (username: string) => ({ pullSecrets: [aPullSecret('s', username)] });
  const waiting = [ensure('r.example/app:1', withSecret('one')), ensure('r.example/app:1', withSecret('two')), ensure('r.example/app:1')];
  await settle();
  assert.deepEqual(images.users, ['one', 'two', '']);
  images.finish('r.example/app:1');
  void waiting;
});

test('the Pulling event is sent while the pull runs', async () => {
  const { images, ensure, told } = aManager();
  images.held = true;
  const pulling = ensure('app:1');
  await settle();
  assert.deepEqual(
    told.map(({ reason, message, object }) => `${reason} ${object.fieldPath ?? ''} ${message}`),
    ['Pulling spec.containers{app} Pulling image "app:1"'],
  );
  images.finish('app:1');
  await pulling;
});

/** In-memory records with configurable access, which also collect the writes. */
function someRecords(mustPull: boolean) {
  const written: unknown[] = [];
  const records: ImageManagerOptions['records'] = {
    mustPull: async (image, imageRef, secrets) => {
      written.push(['mustPull', image, imageRef, secrets().map(({ name }) => name)]);
      return mustPull;
    },
    recordIntent: async (image) => void written.push(['intent', image]),
    recordPulled: async (image, imageRef, credentials) => void written.push(['pulled', image, imageRef, credentials]),
    recordEnd: async (image) => void written.push(['end', image]),
  };
  return { records, written };
}

test('a present image without access for the pod is pulled with the pod’s credentials and recorded', async () => {
  const { records, written } = someRecords(true);
  const { images, ensure } = aManager({ records });
  images.present.add('r.example/app:1');
  const pullSecrets = [aPullSecret('a', 'me')];
  assert.equal(reasons(await ensure('r.example/app:1', { pullSecrets })), 'ref-r.example/app:1 Pulling Pulled');
  const credentialHash = createHash('sha256').update('{"username":"me","password":"geheim"}').digest('hex');
  assert.deepEqual(written, [
    ['mustPull', 'r.example/app:1', 'id-r.example/app:1', ['a']],
    ['intent', 'r.example/app:1'],
    [
      'pulled',
      'r.example/app:1',
      'ref-r.example/app:1',
      { kubernetesSecrets: [{ uid: 'u-a', namespace: 'ns', name: 'a', credentialHash }] },
    ],
  ]);
  images.failWith = notFound;
});

test('an anonymous pull is recorded for every pod, and a failed pull ends its intent', async () => {
  const { records, written } = someRecords(false);
  const { images, ensure } = aManager({ records });
  await ensure('app:1');
  assert.deepEqual(written.at(-1), ['pulled', 'app:1', 'ref-app:1', { nodePodsAccessible: true }]);
  images.failWith = notFound;
  await ensure('other:1', { imagePullPolicy: 'Always' });
  assert.deepEqual(written.at(-1), ['end', 'other:1']);
});

test('with policy Never an inaccessible image is reported like a missing one', async () => {
  const { records } = someRecords(true);
  const { images, ensure } = aManager({ records });
  const message = 'Container image "app:1" is not present with pull policy of Never';
  const absent = await ensure('app:1', { imagePullPolicy: 'Never' });
  images.present.add('app:1');
  const forbidden = await ensure('app:1', { imagePullPolicy: 'Never' });
  assert.deepEqual(
    [reasons(absent), reasons(forbidden)],
    Array.from({ length: 2 }, () => 'ErrImageNeverPull ErrImageNeverPull'),
  );
  assert.deepEqual([absent.events[0]?.message, forbidden.events[0]?.message], [message, message]);
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
