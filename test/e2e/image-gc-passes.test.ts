/** The passes of image garbage collection, on a kubelet whose time passes ten times as fast. Thresholds are tested in cluster/image-gc.test.ts. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ImageFsInfoResponse } from '../../src/shared/cri/generated/cri-v1.ts';
import { Cleanups } from '../support/cleanups.ts';
import { fastTime } from '../support/kubelet/kubelet-environment.ts';
import { importRandomImage } from '../support/kubelet/random-image.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { startHostileRuntime } from '../support/runtime/hostile-runtime.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const env = fastTime(10);
/** A pass takes half a minute. */
const timeoutMs = 120_000;

const hooks = new Cleanups();
/** Removes old images. */
let aged: TestNode;
/** Its runtime names an image filesystem that is not there. */
let broken: TestNode;

before(async () => {
  aged = await TestNode.start(hooks, { env, config: { imageMinimumGCAge: '1m', imageMaximumGCAge: '4m' } });
  for (const name of ['used', 'unused']) importRandomImage(aged, `random.example/${name}:1`, 1024);
  aged.apply(aManifest('user', { containers: [aBusybox({ image: 'random.example/used:1', imagePullPolicy: 'Never' })] }));
  await aged.startKubelet();

  const config: Record<string, unknown> = { imageGCHighThresholdPercent: 90, imageGCLowThresholdPercent: 80 };
  broken = await TestNode.start(hooks, { env, config });
  const proxy = await startHostileRuntime(hooks, broken.containerd.endpoint, ({ call, reply, bytes, encode }) => {
    if (call !== 'ImageFsInfo') return bytes;
    const { imageFilesystems } = reply as ImageFsInfoResponse;
    return encode({ ...reply, imageFilesystems: imageFilesystems.map((each) => ({ ...each, fsId: { mountpoint: '/no/such/folder' } })) });
  });
  config['imageServiceEndpoint'] = proxy.endpoint;
  await broken.startKubelet();
});
after(() => hooks.run());

const occurrences = (node: TestNode, text: string) => node.log().split(text).length - 1;
const untilLogged = (node: TestNode, text: string, count = 1) =>
  waitUntil(`${count} times in the log: ${text}`, () => occurrences(node, text) >= count, timeoutMs);

test('a runtime whose disk has no capacity is an event at each pass, and a failed collection from the second pass on', async () => {
  const event = (reason: string) => `reason="${reason}" eventMessage="invalid capacity 0 on image filesystem"`;
  await untilLogged(broken, event('InvalidDiskCapacity'));
  assert.equal(occurrences(broken, event('ImageGCFailed')), 0);
  await untilLogged(broken, event('ImageGCFailed'));
  assert.equal(occurrences(broken, event('InvalidDiskCapacity')), 2);
});

test('an image that no container has used for imageMaximumGCAge goes, at one of the passes every five minutes', async () => {
  await aged.untilRunning('user');
  const present = async () =>
    (await aged.cri.images.call('listImages', {}, { deadlineMs: 10_000 })).images.flatMap(({ repoTags }) => repoTags);
  await waitUntil('the unused image is gone', async () => !(await present()).includes('random.example/unused:1'), timeoutMs);
  assert.ok((await present()).includes('random.example/used:1'));
  assert.match(await (await aged.get('/metrics')).text(), /^kubelet_image_garbage_collected_total\{reason="age"\} [1-9]/m);
});
