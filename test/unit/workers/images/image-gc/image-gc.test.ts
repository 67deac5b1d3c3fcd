import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeededImages } from '../../../../../src/shared/contracts/images.ts';
import type { CriClient } from '../../../../../src/shared/cri/client.ts';
import { Container, Image } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import { ImageGC, type ImageGCOptions } from '../../../../../src/workers/images/image-gc/image-gc.ts';
import { ImageUses } from '../../../../../src/workers/images/image-uses.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const minute = 60_000;
const nothingNeeded: NeededImages = { listedAtMs: 0, names: [], ids: [] };

/** A runtime with images of 100 bytes on a disk of 1000, of which `used` are used by other files. */
function aNode(options: Partial<ImageGCOptions['policy']> & { used?: number; byRuntimeHandler?: boolean } = {}) {
  const { used = 600, byRuntimeHandler = false, ...policy } = options;
  const clock = new FakeClock();
  const images = new Map<string, Image>();
  const containers: Container[] = [];
  const removals: string[] = [];
  const pruned: (readonly string[])[] = [];
  const state = { used, failRemoval: '', onRemoval: async () => {}, capacity: 1000, failList: false };
  const call = async (method: string, request: { image?: { image: string; runtimeHandler: string } }): Promise<unknown> => {
    if (state.failList) throw new Error('the runtime is down');
    if (method === 'listImages') return { images: [...images.values()] };
    if (method === 'listContainers') return { containers };
    const { image = '', runtimeHandler = '' } = request.image ?? {};
    if (image === state.failRemoval) throw new Error(`${image} is busy`);
    removals.push(runtimeHandler === '' ? image : `${image}@${runtimeHandler}`);
    await state.onRemoval();
    for (const [key, { id, spec }] of images) if (id === image && (spec?.runtimeHandler ?? '') === runtimeHandler) images.delete(key);
    return {};
  };
  const client = { call } as unknown;
  const uses = new ImageUses();
  const gc = new ImageGC({
    policy: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 2 * minute, maxAgeMs: 0, ...policy },
    runtime: client as CriClient['runtime'],
    images: client as CriClient['images'],
    filesystem: {
      read: async () => ({ capacityBytes: state.capacity, availableBytes: Math.max(0, state.capacity - state.used - images.size * 100) }),
    },
    uses,
    pruneRecords: async (present) => void pruned.push([...present]),
    byRuntimeHandler,
    deadlineMs: 1000,
    clock,
    logger: aLogger().logger,
  });
  const addImage = (id: string, fields: Partial<Image> = {}) =>
    void images.set(
      `${id}${fields.spec?.runtimeHandler ?? ''}`,
      Image.fromPartial({ id, size: 100n, repoTags: [`docker.io/library/${id}:latest`], ...fields } as never),
    );
  const addContainer = (fields: Partial<Container>) => containers.push(Container.fromPartial(fields as never));
  const needed = (fields: Partial<NeededImages> = {}): NeededImages => ({ ...nothingNeeded, listedAtMs: clock.monotonic(), ...fields });
  return { clock, gc, uses, images, containers, state, removals, pruned, addImage, addContainer, needed };
}

test('the least recently used images go until the low threshold is reached', async () => {
  const { clock, gc, addImage, addContainer, containers, removals, needed, pruned } = aNode();
  for (const id of ['a', 'b', 'c']) addImage(id);
  addContainer({ id: '1', imageId: 'a' });
  assert.deepEqual(await gc.garbageCollect(needed()), {
    removedImages: 0,
    freedBytes: 0,
    failure: {
      reason: 'FreeDiskSpaceFailed',
      message:
        "Insufficient free disk space on the node's image filesystem (90% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
    },
  });
  await clock.advance(5 * minute);
  containers.length = 0;
  addContainer({ id: '2', imageRef: 'b' });
  assert.deepEqual(await gc.garbageCollect(needed()), { removedImages: 1, freedBytes: 100, failure: null });
  assert.deepEqual(removals, ['c']);
  assert.deepEqual(pruned, [['a', 'docker.io/library/a:latest', 'b', 'docker.io/library/b:latest']]);
});

test('images of containers in any state, of pods, of volumes and pinned images stay', async () => {
  const { clock, gc, addImage, addContainer, removals, needed } = aNode({ used: 500 });
  for (const id of ['dead', 'named', 'mounted', 'unused']) addImage(id);
  addImage('pause', { pinned: true });
  addContainer({ id: '1', imageId: 'dead', state: 1 });
  await gc.garbageCollect(needed());
  await clock.advance(5 * minute);
  const reply = await gc.garbageCollect(needed({ names: ['named', 'UPPER/invalid name'], ids: ['mounted'] }));
  assert.deepEqual(removals, ['unused']);
  assert.equal(reply.failure?.reason, 'FreeDiskSpaceFailed');
});

test('an image that a pod requests or has just got stays', async () => {
  const { clock, gc, addImage, removals, needed, uses, state } = aNode({ used: 700 });
  for (const id of ['unused', 'given', 'requested']) addImage(id);
  await gc.garbageCollect(needed());
  await clock.advance(5 * minute);
  const request = needed();
  await clock.advance(1);
  uses.give('given', clock.monotonic());
  // The request begins while the collection already removes images.
  state.onRemoval = async () => void (await uses.begin('requested'));
  await gc.garbageCollect(request);
  assert.deepEqual(removals, ['unused']);
});

test('a request waits for the removal of its image', async () => {
  const { clock, gc, addImage, needed, uses, state } = aNode({ used: 900 });
  addImage('a');
  await gc.garbageCollect(needed());
  await clock.advance(5 * minute);
  const removal = Promise.withResolvers<void>();
  state.onRemoval = () => removal.promise;
  const collected = gc.garbageCollect(needed());
  await settle();
  let begun = false;
  const wait = async () => {
    const end = await uses.begin('a');
    begun = true;
    end();
  };
  const waiting = wait();
  (await uses.begin('other'))();
  await settle();
  assert.equal(begun, false);
  removal.resolve();
  await Promise.all([collected, waiting]);
});

test('an image that cannot be removed costs only itself, and is an error', async () => {
  const { clock, gc, addImage, removals, needed, state } = aNode({ used: 700 });
  for (const id of ['a', 'b']) addImage(id);
  await gc.garbageCollect(needed());
  await clock.advance(5 * minute);
  state.failRemoval = 'a';
  const { failure } = await gc.garbageCollect(needed());
  assert.deepEqual(removals, ['b']);
  assert.equal(failure?.message, 'wanted to free 100 bytes, but freed 100 bytes space with errors in image deletion: a is busy');
});

test('images that were not used for the maximum age go, whatever the usage', async () => {
  const { clock, gc, addImage, addContainer, containers, removals, needed } = aNode({ used: 0, maxAgeMs: 60 * minute });
  for (const id of ['a', 'b']) addImage(id);
  addContainer({ id: '1', imageId: 'b' });
  for (let round = 0; round < 12; round += 1) {
    await gc.garbageCollect(needed());
    await clock.advance(5 * minute);
  }
  assert.deepEqual(removals, []);
  containers.length = 0;
  await clock.advance(minute);
  await gc.garbageCollect(needed());
  assert.deepEqual(removals, ['a']);
});

test('an unknown capacity is an error with its event', async () => {
  const { gc, state, needed } = aNode();
  state.capacity = 0;
  const { failure } = await gc.garbageCollect(needed());
  assert.deepEqual(failure, { reason: 'InvalidDiskCapacity', message: 'invalid capacity 0 on image filesystem' });
});

test('a runtime that does not answer is an error, and the next collection goes on', async () => {
  const { gc, state, needed } = aNode({ used: 0 });
  state.failList = true;
  assert.deepEqual((await gc.garbageCollect(needed())).failure, { reason: 'ImageGCFailed', message: 'the runtime is down' });
  state.failList = false;
  assert.equal((await gc.garbageCollect(needed())).failure, null);
});

test('a threshold of 100 without a maximum age removes nothing, and all unused images can be deleted', async () => {
  const { clock, gc, addImage, addContainer, removals, needed } = aNode({ used: 700, highThresholdPercent: 100 });
  for (const id of ['a', 'b', 'c']) addImage(id);
  addContainer({ id: '1', imageId: 'c' });
  assert.equal((await gc.garbageCollect(needed())).failure, null);
  await clock.advance(5 * minute);
  assert.equal((await gc.garbageCollect(needed())).failure, null);
  addImage('young');
  assert.deepEqual(await gc.deleteUnusedImages(needed()), { removedImages: 2, freedBytes: 200, failure: null });
  assert.deepEqual(removals, ['a', 'b']);
});

test('with runtime classes an image is one for each handler', async () => {
  const { clock, gc, addImage, addContainer, removals, needed } = aNode({ used: 750, byRuntimeHandler: true });
  const spec = (runtimeHandler: string) => ({ image: '', imageRef: '', annotations: {}, userSpecifiedImage: '', runtimeHandler });
  addImage('a', { spec: spec('kata'), repoTags: [] });
  addImage('a', { spec: spec('runc'), repoTags: [] });
  addContainer({ id: '1', imageId: 'a', image: spec('runc') });
  await gc.garbageCollect(needed());
  await clock.advance(5 * minute);
  await gc.garbageCollect(needed());
  assert.deepEqual(removals, ['a@kata']);
});

test('a plan removes nothing', async () => {
  const { clock, gc, addImage, addContainer, removals, needed } = aNode({ used: 650 });
  for (const id of ['a', 'b']) addImage(id);
  addContainer({ id: '1', imageId: 'b' });
  await gc.plan(needed());
  await clock.advance(5 * minute);
  const { images, ...disk } = await gc.plan(needed());
  assert.deepEqual(removals, []);
  assert.deepEqual(disk, {
    highThresholdPercent: 85,
    lowThresholdPercent: 80,
    minAgeMs: 120_000,
    maxAgeMs: 0,
    capacityBytes: 1000,
    availableBytes: 150,
    usagePercent: 85,
    toFreeBytes: 50,
  });
  const [began, now] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:05:00.000Z'];
  assert.deepEqual(images, [
    { id: 'a', names: ['docker.io/library/a:latest'], sizeBytes: 100, firstDetected: began, lastUsed: null, remove: true, reason: 'space' },
    {
      id: 'b',
      names: ['docker.io/library/b:latest'],
      sizeBytes: 100,
      firstDetected: began,
      lastUsed: now,
      remove: false,
      reason: 'in use',
    },
  ]);
});

test('a plan of a disabled collection removes nothing for space, however full the disk is', async () => {
  const { clock, gc, addImage, removals, needed } = aNode({ used: 900, highThresholdPercent: 100 });
  addImage('a');
  await gc.plan(needed());
  await clock.advance(5 * minute);
  const { usagePercent, toFreeBytes, images } = await gc.plan(needed());
  assert.deepEqual([usagePercent, toFreeBytes, images.map(({ reason }) => reason)], [100, 0, ['not necessary']]);
  assert.deepEqual([(await gc.garbageCollect(needed())).failure, removals], [null, []]);
});

test('a changed policy is that of the next collection and of the next plan', async () => {
  const { gc, addImage, removals, needed, clock } = aNode();
  addImage('a');
  await gc.garbageCollect(needed());
  await clock.advance(10 * minute);
  removals.length = 0;
  gc.setPolicy({ highThresholdPercent: 100, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: minute });
  assert.equal((await gc.plan(needed())).highThresholdPercent, 100);
  await gc.garbageCollect(needed());
  assert.deepEqual(removals, ['a']);
});
