import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decodeEvent } from '../../../../src/shared/cri/decode-event.ts';
import { ContainerEventResponse } from '../../../../src/shared/cri/generated/cri-v1.ts';

const event = ContainerEventResponse.fromPartial({
  containerId: 'c1',
  containerEventType: 3,
  createdAt: 1_767_225_600_123_456_789n,
  podSandboxStatus: { id: 's1', metadata: { uid: 'u1', name: 'web', namespace: 'default' }, labels: { app: 'web' } },
});

suite('an event of the runtime', () => {
  test('is decoded without the statuses of the containers', () => {
    const containersStatuses = [{ id: 'c1', labels: { app: 'web' } }, { id: 'c2' }];
    const bytes = ContainerEventResponse.encode(ContainerEventResponse.fromPartial({ ...event, containersStatuses })).finish();
    assert.deepEqual(decodeEvent(bytes), event);
  });

  test('may lack fields, and have statuses that are malformed', () => {
    assert.deepEqual(decodeEvent(Buffer.alloc(0)), ContainerEventResponse.fromPartial({}));
    const malformed = Buffer.from([0x2a, 2, 0xff, 0xff]);
    assert.deepEqual(decodeEvent(Buffer.concat([malformed, ContainerEventResponse.encode(event).finish()])), event);
  });

  test('that is cut off or no message is an error', () => {
    const bytes = ContainerEventResponse.encode(event).finish();
    assert.throws(() => decodeEvent(bytes.subarray(0, bytes.length - 1)));
    assert.throws(() => decodeEvent(Buffer.from([0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f])));
    assert.throws(() => decodeEvent(Buffer.from('no message')));
  });
});
