/** Image garbage collection on a small image filesystem, so that the thresholds are really crossed. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pauseImage } from '../../../lab/containerd/local-images.ts';
import type { ImageGcPlan } from '../../../src/shared/contracts/images.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { runLocalCommand } from '../../support/kubelet/local-command.ts';
import { importRandomImage } from '../../support/kubelet/random-image.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const mebibyte = 1024 * 1024;
describe('with a full image filesystem', () => {
  let node: TestClusterNode;
  const plan = async () => JSON.parse(await node.api.text(`${node.nodePath}/proxy/debug/image-gc`)) as ImageGcPlan;
  const fateOf = ({ images }: ImageGcPlan, name: string) => images.find(({ names }) => names.includes(name));
  const present = async () =>
    (await node.node.cri.images.call('listImages', {}, { deadlineMs: 10_000 })).images.flatMap(({ repoTags }) => repoTags);
  /** Undefined while the kubelet does not answer. */
  const usage = async () => (await plan().catch(() => undefined))?.usagePercent ?? 100;
  const named = (name: string) => `random.example/${name}:1`;

  before(async () => {
    node = await TestClusterNode.start('cluster-image-gc', {
      imageFilesystemBytes: 120 * mebibyte,
      config: { evictionHard: {}, imageMinimumGCAge: '1ms', imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60 },
    });
    // On disk an image takes its layer twice: as content and unpacked.
    for (const name of ['running', 'ended', 'unused-one', 'unused-two']) importRandomImage(node.node, named(name), 12 * mebibyte);
  });
  after(() => node?.destroy());

  test('unused images go, those of pods stay, and a dry run has said so', async () => {
    await node.create('running', { containers: [aBusybox({ image: named('running'), imagePullPolicy: 'Never' })] });
    await node.untilRunning('running');
    const before = await plan();
    assert.equal(before.toFreeBytes > 0, true, JSON.stringify(before));
    assert.equal(before.images[0]?.remove, true, JSON.stringify(before));
    assert.deepEqual(
      [named('running'), pauseImage].map((name) => fateOf(before, name)?.reason),
      ['in use', 'pinned'],
    );
    const { stdout } = await runLocalCommand('image-gc', node.node.rootDir);
    assert.match(stdout, /^A collection would now remove [1-9] of \d+ images/m);
    assert.match(stdout, /^random\.example\/[a-z-]+:1 +1\d\.\d MiB +unknown +goes +the disk is too full$/m);
    assert.match(stdout, /^random\.example\/running:1 +1\d\.\d MiB +now +stays +in use$/m);
    const json = JSON.parse((await runLocalCommand('image-gc', node.node.rootDir, '-o', 'json')).stdout) as ImageGcPlan;
    assert.deepEqual(new Set(json.images.map(({ id }) => id)), new Set(before.images.map(({ id }) => id)));
    assert.equal(fateOf(json, named('running'))?.reason, 'in use');
    // A kubelet collects when it starts, and then every five minutes.
    await node.restartKubelet();
    await waitUntil('the usage is below the high threshold', async () => (await usage()) < before.highThresholdPercent, 30_000);
    const left = await present();
    assert.deepEqual(
      before.images.filter(({ remove }) => remove).flatMap(({ names }) => names.filter((name) => left.includes(name))),
      [],
      'the images of the dry run are gone',
    );
    for (const name of [named('running'), pauseImage]) assert.ok(left.includes(name), name);
    const metrics = await node.api.text(`${node.nodePath}/proxy/metrics`);
    assert.match(metrics, /^kubelet_image_garbage_collected_total\{reason="space"\} [1-9]/m);
  });

  test('a disk that other files fill is an event of the node, and costs no image of a pod', async () => {
    const { availableBytes } = await plan();
    writeFileSync(join(node.node.imageFilesystem, 'other-files'), Buffer.alloc(availableBytes - 10 * mebibyte));
    await node.restartKubelet();
    const message =
      /^Insufficient free disk space on the node's image filesystem \(\d+% of 120\.0 MiB used\)\. Failed to free sufficient space/;
    await node.untilEvent(node.nodeName, 'FreeDiskSpaceFailed', message, 'default');
    assert.deepEqual(
      (await present()).filter((name) => name.startsWith('random.example/')),
      [named('running')],
    );
    assert.equal((await node.get('running')).status?.phase, 'Running');
  });
});
