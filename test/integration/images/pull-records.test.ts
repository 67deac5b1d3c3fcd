import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { RuntimeImage } from '../../../src/shared/contracts/images.ts';
import { PullRecords, type ImagePullSecret } from '../../../src/workers/images/pulls/records/pull-records.ts';
import { recordFileName } from '../../../src/workers/images/pulls/records/record-files.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const image = 'r.example/app:1';
const imageRef = 'sha256:abc';
const secret: ImagePullSecret = { uid: 'u', namespace: 'ns', name: 'pull', credentialHash: 'hash' };

function aNode(t: TestContext) {
  const rootDir = mkdtempSync(join(tmpdir(), 'pull-records-'));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const { logger, lines } = aLogger();
  const clock = new FakeClock();
  const dir = (name: string) => join(rootDir, 'image_manager', name);
  return {
    lines,
    clock,
    dir,
    open: (images: readonly RuntimeImage[] = [], policy = 'NeverVerifyPreloadedImages') =>
      PullRecords.open({
        rootDir,
        policy: { name: policy, allowlist: [] },
        listImages: async () => images,
        clock,
        logger,
      }),
  };
}

const podWith = (...secrets: ImagePullSecret[]) => ({ secrets: () => secrets, serviceAccount: async () => undefined });

test('every pod may use a preloaded image; only pods with the secret may use an image that the kubelet pulled', async (t) => {
  const { open, dir } = aNode(t);
  const records = await open();
  assert.equal(await records.mustPull(image, imageRef, podWith()), false);
  await records.recordIntent(image);
  assert.deepEqual(JSON.parse(readFileSync(join(dir('pulling'), recordFileName(image)), 'utf8')), {
    kind: 'ImagePullIntent',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    image,
  });
  assert.equal(await records.mustPull(image, imageRef, podWith()), true);
  await records.recordPulled(image, imageRef, { kubernetesSecrets: [secret] });
  assert.deepEqual(readdirSync(dir('pulling')), []);
  assert.equal(
    readFileSync(join(dir('pulled'), recordFileName(imageRef)), 'utf8'),
    '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-01-01T00:00:00Z",' +
      '"imageRef":"sha256:abc","credentialMapping":{"r.example/app":{"kubernetesSecrets":' +
      '[{"uid":"u","namespace":"ns","name":"pull","credentialHash":"hash"}]}}}\n',
  );
  assert.equal(statSync(join(dir('pulled'), recordFileName(imageRef))).mode & 0o777, 0o600);
  assert.equal(statSync(dir('pulled')).mode & 0o777, 0o700);
  assert.equal(await records.mustPull(image, imageRef, podWith()), true);
  assert.equal(await records.mustPull(image, imageRef, podWith(secret)), false);
});

test('records survive a restart, including those that another kubelet wrote', async (t) => {
  const { open, dir } = aNode(t);
  mkdirSync(dir('pulled'), { recursive: true });
  const file = join(dir('pulled'), recordFileName(imageRef));
  const mapping = '{"r.example/app":{"nodePodsAccessible":true}}';
  writeFileSync(
    file,
    `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1alpha1","lastUpdatedTime":"2024-10-21T12:26:40Z","imageRef":"sha256:abc","credentialMapping":${mapping}}`,
  );
  const records = await open([], 'AlwaysVerify');
  assert.equal(await records.mustPull(image, imageRef, podWith()), false);
  assert.match(readFileSync(file, 'utf8'), /v1beta1.*2024-10-21T12:26:40Z/);
});

test('an unreadable record gives no pod access', async (t) => {
  const { open, dir, lines } = aNode(t);
  mkdirSync(dir('pulled'), { recursive: true });
  writeFileSync(join(dir('pulled'), recordFileName(imageRef)), '{"kind":');
  const records = await open();
  assert.equal(await records.mustPull(image, imageRef, podWith(secret)), true);
  assert.ok(lines.some(({ msg }) => msg === 'Failed to read image pull record'));
  await records.recordIntent(image);
  await records.recordPulled(image, imageRef, { nodePodsAccessible: true });
  assert.equal(await records.mustPull(image, imageRef, podWith()), false);
});

test('no pod may use the image of an interrupted pull until it is pulled again', async (t) => {
  const { open, dir } = aNode(t);
  await (await open()).recordIntent(image);
  const records = await open([{ id: imageRef, repoTags: [image], repoDigests: [], sizeBytes: 1 }]);
  for (const endMs = Date.now() + 10_000; readdirSync(dir('pulling')).length > 0 && Date.now() < endMs;) await settle();
  assert.deepEqual(readdirSync(dir('pulling')), []);
  assert.equal(await records.mustPull(image, imageRef, podWith(secret)), true);
});

test('the records of removed images go, those of later pulls stay', async (t) => {
  const { open, dir } = aNode(t);
  const records = await open();
  const beganAtMs = Date.UTC(2026, 0, 1) + 700;
  await records.recordPulled(image, imageRef, { nodePodsAccessible: true });
  await records.recordPulled('r.example/gone:1', 'sha256:gone', { nodePodsAccessible: true });
  await records.prune(new Set([imageRef]), beganAtMs);
  assert.equal(readdirSync(dir('pulled')).length, 2, 'both were recorded in the second in which the collection began');
  await records.prune(new Set([imageRef]), beganAtMs + 1000);
  assert.deepEqual(readdirSync(dir('pulled')), [recordFileName(imageRef)]);
});

test('an image that is removed and pulled again during a collection keeps its record, although nothing in it changes', async (t) => {
  const { open, clock } = aNode(t);
  const records = await open();
  await records.recordPulled(image, imageRef, { kubernetesSecrets: [secret] });
  await clock.advance(3_600_000);
  const beganAtMs = clock.now();
  await clock.advance(2000);
  await records.recordPulled(image, imageRef, { kubernetesSecrets: [secret] });
  await records.prune(new Set(), beganAtMs);
  assert.equal(await records.mustPull(image, imageRef, podWith()), true, 'without the record it would count as preloaded');
});

test('two pods whose pulls end at the same time both keep their access', async (t) => {
  const { open } = aNode(t);
  const other: ImagePullSecret = { uid: 'u2', namespace: 'ns2', name: 'pull', credentialHash: 'hash2' };
  const records = await open();
  await Promise.all([secret, other].map((each) => records.recordPulled(image, imageRef, { kubernetesSecrets: [each] })));
  for (const reader of [records, await open()]) {
    assert.equal(await reader.mustPull(image, imageRef, podWith(secret)), false);
    assert.equal(await reader.mustPull(image, imageRef, podWith(other)), false);
  }
});

test('a pull that starts during the removal of the previous intent has an intent', async (t) => {
  const { open, dir } = aNode(t);
  const records = await open();
  await records.recordIntent(image);
  const ended = records.recordEnd(image);
  await Promise.all([ended, records.recordIntent(image)]);
  assert.equal(readdirSync(dir('pulling')).length, 1);
  await records.recordEnd(image);
  assert.equal(readdirSync(dir('pulling')).length, 0);
});

test('two pulls of one image share one intent, which is removed with the last pull', async (t) => {
  const { open, dir } = aNode(t);
  const records = await open();
  await Promise.all([records.recordIntent(image), records.recordIntent(image)]);
  await records.recordEnd(image);
  assert.equal(readdirSync(dir('pulling')).length, 1);
  await records.recordEnd(image);
  assert.equal(readdirSync(dir('pulling')).length, 0);
});
