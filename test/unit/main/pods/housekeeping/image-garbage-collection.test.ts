import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImageGarbageCollection, neededImages } from '../../../../../src/main/pods/housekeeping/index.ts';
import type { RecordedEvent } from '../../../../../src/shared/contracts/event.ts';
import type { ImageGcReply } from '../../../../../src/shared/contracts/images.ts';
import type { RuntimePodStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

test('images are needed by pods that have not ended, and by containers and volumes of the runtime', () => {
  const aPod = (uid: string, spec: Pod['spec'], phase?: string): Pod => ({
    metadata: { name: uid, namespace: 'ns', uid },
    spec,
    ...(phase !== undefined && { status: { phase } }),
  });
  const pods = [
    aPod('a', {
      initContainers: [{ name: 'i', image: 'init' }],
      containers: [{ name: 'c', image: 'app:1' }, { name: 'd' }],
      volumes: [
        { name: 'v', image: { reference: 'volume:1' } },
        { name: 'e', emptyDir: {} },
      ],
    }),
    aPod('b', { containers: [{ name: 'c', image: 'app:1' }], ephemeralContainers: [{ name: 'e', image: 'debug' }] }),
    aPod('ended', { containers: [{ name: 'c', image: 'ended' }] }, 'Succeeded'),
    aPod('failed', { containers: [{ name: 'c', image: 'failed' }] }, 'Running'),
  ];
  const container = { imageID: 'sha256:1', mounts: [{ image: 'sha256:2' }, {}] };
  const needed = neededImages({
    podManager: { all: () => pods },
    statuses: { get: (uid) => ((uid as string) === 'failed' ? { phase: 'Failed' } : undefined) },
    cache: { all: () => [{ containers: [container, { imageID: '', mounts: [] }] } as unknown as RuntimePodStatus].values() },
    clock: new FakeClock(),
  });
  assert.deepEqual(needed, { listedAtMs: 0, names: ['init', 'app:1', 'volume:1', 'debug'], ids: ['sha256:1', 'sha256:2'] });
});

test('images are collected every five minutes, and only repeated failures are an event', async () => {
  const clock = new FakeClock();
  const events: RecordedEvent[] = [];
  const replies: (ImageGcReply | Error)[] = [];
  let collections = 0;
  const collection = new ImageGarbageCollection({
    neededImages: () => ({ listedAtMs: 0, names: [], ids: [] }),
    collectImages: async () => {
      collections += 1;
      const reply = replies.shift() ?? { removedImages: 0, freedBytes: 0, failure: null };
      if (reply instanceof Error) throw reply;
      return reply;
    },
    nodeName: 'n',
    events: { record: (event) => void events.push(event) },
    clock,
    logger: aLogger().logger,
  });
  const round = async (reply?: ImageGcReply | Error) => {
    if (reply) replies.push(reply);
    collection.runIfDue();
    await settle();
    collection.runIfDue();
    await clock.advance(5 * 60_000);
    return events.splice(0).map(({ reason, message, object }) => `${object.kind} ${object.name} ${reason}: ${message}`);
  };
  const failed = (reason: string) => ({ removedImages: 0, freedBytes: 0, failure: { reason, message: 'm' } });
  assert.deepEqual(await round(), []);
  assert.deepEqual(await round(failed('ImageGCFailed')), []);
  assert.deepEqual(await round(new Error('the images thread is down')), ['Node n ImageGCFailed: the images thread is down']);
  assert.deepEqual(await round(), []);
  assert.deepEqual(await round(failed('FreeDiskSpaceFailed')), ['Node n FreeDiskSpaceFailed: m']);
  assert.deepEqual(await round(failed('InvalidDiskCapacity')), ['Node n InvalidDiskCapacity: m', 'Node n ImageGCFailed: m']);
  assert.equal(collections, 6);
});
