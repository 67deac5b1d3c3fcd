import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogRotationPolicy } from '../../../../../src/shared/contracts/images.ts';
import { LogRotation } from '../../../../../src/workers/images/log-rotation/index.ts';
import { settle } from '../../../../support/fake-clock.ts';

const policy = (maxFiles: number): LogRotationPolicy => ({ maxSizeBytes: 1, maxFiles, maxWorkers: 1, monitorIntervalMs: 3000 });

function aRotation() {
  const calls: string[] = [];
  const closing = new Map<number, PromiseWithResolvers<void>>();
  const rotation = new LogRotation(({ maxFiles }) => {
    closing.set(maxFiles, Promise.withResolvers<void>());
    return {
      start: () => void calls.push(`start ${maxFiles}`),
      close: () => {
        calls.push(`close ${maxFiles}`);
        return closing.get(maxFiles)!.promise;
      },
    };
  });
  return { rotation, calls, end: (maxFiles: number) => closing.get(maxFiles)!.resolve() };
}

test('another policy replaces the manager when its rotations have ended; the same one does not', async () => {
  const { rotation, calls, end } = aRotation();
  rotation.configure(policy(2));
  await settle();
  rotation.configure(policy(2));
  rotation.configure(policy(3));
  await settle();
  assert.deepEqual(calls, ['start 2', 'close 2']);
  end(2);
  await settle();
  assert.deepEqual(calls, ['start 2', 'close 2', 'start 3']);
});

test('of several changes during a replacement only the last one starts', async () => {
  const { rotation, calls, end } = aRotation();
  rotation.configure(policy(2));
  await settle();
  for (const maxFiles of [3, 4, 5]) rotation.configure(policy(maxFiles));
  end(2);
  await settle();
  assert.deepEqual(calls, ['start 2', 'close 2', 'start 5']);
});

test('rotation can be switched off and on', async () => {
  const { rotation, calls, end } = aRotation();
  rotation.configure(null);
  rotation.configure(policy(2));
  await settle();
  rotation.configure(null);
  await settle();
  end(2);
  await settle();
  rotation.configure(policy(2));
  await settle();
  assert.deepEqual(calls, ['start 2', 'close 2', 'start 2']);
});

test('close waits for the rotations in flight, and starts nothing', async () => {
  const { rotation, calls, end } = aRotation();
  rotation.configure(policy(2));
  await settle();
  rotation.configure(policy(3));
  let isClosed = false;
  void rotation.close().then(() => (isClosed = true));
  await settle();
  assert.equal(isClosed, false);
  end(2);
  await settle();
  assert.deepEqual([isClosed, calls], [true, ['start 2', 'close 2']]);
});
