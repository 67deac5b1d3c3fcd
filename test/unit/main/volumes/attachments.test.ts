/** When a volume may be staged, by the Node's two lists and the VolumeAttachment, and the message of a pod whose volume may not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attachments } from '../../../../src/main/volumes/attachments/attachments.ts';
import { attachmentStatus, type VolumeAttachment } from '../../../../src/main/volumes/attachments/attachment-status.ts';
import { VolumesInUse } from '../../../../src/main/volumes/attachments/volumes-in-use.ts';
import { ApiError } from '../../../../src/main/api/index.ts';
import { attachmentName, uniqueVolumeName } from '../../../../src/shared/kubernetes/attachment-names.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { table } from '../../../support/table.ts';

const name = uniqueVolumeName('d', 'h');
const volume = { podUID: 'pod-1', specName: 'pv1', driver: 'd', volumeHandle: 'h' };
const attachmentID = attachmentName('h', 'd', 'n1');
const waiting = 'Volume not attached according to node status for volume "pv1"';
const unreported = 'Volume has not been added to the list of VolumesInUse in the node\'s volume status for volume "pv1"';

function fixture({ controllerAttaches = true, isLimited = false } = {}) {
  const clock = new FakeClock();
  const volumesInUse = new VolumesInUse();
  volumesInUse.setEmpty();
  let status = {};
  const reads: string[] = [];
  const messages: string[] = [];
  let attachment: VolumeAttachment['status'] | Error = {};
  const woken: string[] = [];
  const attachments = new Attachments({
    volumesInUse,
    nodeStatus: () => status,
    attachment: async (id) => {
      reads.push(id);
      if (attachment instanceof Error) throw attachment;
      return { metadata: { name: id, uid: 'u' }, status: attachment };
    },
    onExhausted: async () => isLimited,
    nodeName: 'n1',
    controllerAttaches,
    wake: (uid) => woken.push(uid),
    clock,
  });
  const ending = new AbortController();
  return {
    reads,
    messages,
    woken,
    clock,
    volumesInUse,
    end: () => ending.abort(),
    setAttachment: (value: typeof attachment) => (attachment = value),
    start: () => attachments.untilAttached(volume, (message) => messages.push(message), ending.signal),
    report: () => volumesInUse.reported({ volumesInUse: [name] }),
    attach: (names: readonly string[] = [name]) => {
      status = { volumesAttached: names.map((attached) => ({ name: attached })) };
      attachments.onNodeChange();
    },
  };
}

test('a volume is attached when the Node lists it twice and its attachment says so, with one read', async () => {
  const { start, report, attach, setAttachment, reads, messages, woken, clock } = fixture();
  setAttachment({ attached: true, attachmentMetadata: { device: 'sdb' } });
  const attached = start();
  await clock.advance(0);
  report();
  await clock.advance(0);
  attach(['another']);
  await clock.advance(0);
  assert.deepEqual([messages, reads, woken], [[unreported, waiting, waiting], [], []]);
  attach();
  assert.deepEqual(await attached, { outcome: 'attached', publishContext: { device: 'sdb' } });
  assert.deepEqual([reads, woken], [[attachmentID], ['pod-1']]);
});

test('an attached volume is not staged before the API server knows that it is in use', async () => {
  const { start, report, attach, setAttachment, reads, clock } = fixture();
  setAttachment({ attached: true });
  attach();
  const attached = start();
  await clock.advance(1000);
  assert.deepEqual(reads, []);
  report();
  assert.deepEqual(await attached, { outcome: 'attached', publishContext: {} });
});

test('a volume that stays unattached waits without an event; an error of the attacher is named', async () => {
  const { start, report, setAttachment, clock } = fixture();
  const first = start();
  report();
  await clock.advance(10_000);
  assert.deepEqual(await first, { outcome: 'waiting', message: waiting, isUnattached: true });
  setAttachment({ attachError: { message: 'rpc error: code = Internal desc = no such disk' } });
  const second = start();
  await clock.advance(10_000);
  assert.deepEqual(await second, {
    outcome: 'failed',
    message: 'MountVolume.WaitForAttach failed for volume "pv1" : rpc error: code = Internal desc = no such disk',
    isUnattached: true,
  });
  setAttachment(new ApiError(404, 'NotFound', 'not found'));
  const third = start();
  await clock.advance(10_000);
  assert.equal((await third).outcome, 'waiting');
});

test('a pod is rejected when the node is full, if the limit of the driver is updated', async () => {
  for (const isLimited of [true, false]) {
    const { start, report, setAttachment, clock } = fixture({ isLimited });
    setAttachment({ attachError: { message: 'full', errorCode: 8 } });
    const attached = start();
    report();
    await clock.advance(10_000);
    assert.equal((await attached).outcome, isLimited ? 'exhausted' : 'failed');
  }
});

test('a pod that ends waits for no attachment', async () => {
  const { start, end, clock } = fixture();
  const attached = start();
  await clock.advance(0);
  end();
  assert.deepEqual(await attached, { outcome: 'waiting', message: 'volume "pv1" is not attached: the pod ends' });
});

test('a kubelet without the controller attaches no volume of a driver', async () => {
  const { start, volumesInUse } = fixture({ controllerAttaches: false });
  assert.deepEqual(await start(), {
    outcome: 'failed',
    reason: 'FailedAttachVolume',
    message: 'AttachVolume.Attach failed for volume "pv1" : attaching volumes from the kubelet is not supported',
  });
  assert.equal(volumesInUse.isUsed(name), false);
});

test('an attachment that can’t be read is named', async () => {
  const { start, report, attach, setAttachment } = fixture();
  setAttachment(new Error('no route'));
  const attached = start();
  report();
  attach();
  assert.deepEqual(await attached, {
    outcome: 'failed',
    message: `MountVolume.WaitForAttach failed for volume "pv1" : volume h has GET error for volume attachment ${attachmentID}: no route`,
  });
});

table('an attachment', (row) => {
  const cases: [name: string, status: VolumeAttachment['status'], want: RegExp | Record<string, string>][] = [
    ['that is made', { attached: true }, {}],
    ['with metadata', { attached: true, attachmentMetadata: { a: 'b' } }, { a: 'b' }],
    ['that is not made', { attached: false }, /^volume h is not attached for volume attachment csi-1$/],
    ['without a status', undefined, /is not attached/],
    ['with an error', { attached: false, attachError: { message: 'no such disk' } }, /^no such disk$/],
    ['with endless metadata', { attached: true, attachmentMetadata: { a: 'x'.repeat(300_000) } }, /more than 262144 characters/],
  ];
  for (const [name, status, want] of cases)
    row(name, () => {
      const result = attachmentStatus({ metadata: { name: 'csi-1', uid: 'u' }, ...(status && { status }) }, 'h');
      if (want instanceof RegExp) assert.match(result.attached ? '' : result.problem, want);
      else assert.deepEqual(result, { attached: true, publishContext: want });
    });
});
