import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TaskChannel, type TaskHandlers, type PodTask } from '../../../../src/main/threads/task-channel.ts';
import { sandboxPermitID, type MessageToTask } from '../../../../src/shared/contracts/pod-sync/channel.ts';
import type { PodObjectRef } from '../../../../src/shared/contracts/pod-objects.ts';
import { KubeletError } from '../../../../src/shared/errors/kubelet-error.ts';
import { silentLogger } from '../../../support/logger.ts';

const task = { kind: 'cleanUp', podUID: 'uid-1' } as unknown as PodTask;
const refs: PodObjectRef[] = [
  { kind: 'Secret', namespace: 'd', name: 's' },
  { kind: 'Services', namespace: 'd', links: true },
];

/** Main’s reply to a task that requests pod objects. */
async function replyToPodObjects(t: TestContext, podObjects?: NonNullable<TaskHandlers['podObjects']>): Promise<MessageToTask> {
  const handlers: TaskHandlers = {
    ensureImage: () => Promise.reject(new Error('unexpected request')),
    startPermit: () => Promise.reject(new Error('unexpected request')),
    event: () => {},
    ...(podObjects && { podObjects }),
  };
  const channel = new TaskChannel(task, handlers, silentLogger);
  t.after(() => {
    channel.close();
    channel.port.close();
  });
  channel.port.postMessage([{ type: 'podObjects', id: 7, refs, maxBytes: 1000 }]);
  const [reply] = (await once(channel.port, 'message')) as [MessageToTask];
  return reply;
}

test('the reply to a request for pod objects has one result for each reference, in order', async (t) => {
  const reply = await replyToPodObjects(t, async (requested, by) => {
    assert.deepEqual([requested, by], [refs, task]);
    return requested.map(({ kind }) => ({ outcome: 'failed', failure: { reason: kind, message: '' } }));
  });
  assert.deepEqual(reply, {
    type: 'podObjects',
    id: 7,
    results: [
      { outcome: 'failed', failure: { reason: 'Secret', message: '' } },
      { outcome: 'failed', failure: { reason: 'Services', message: '' } },
    ],
    bytes: 0,
  });
});

test('objects that are longer than the task takes are not copied', async (t) => {
  const token = 'x'.repeat(800);
  const reply = await replyToPodObjects(t, async () => refs.map(() => ({ outcome: 'value', value: { kind: 'Token', token } })));
  assert.deepEqual(reply, { type: 'podObjects', id: 7, results: null, bytes: 1600 });
});

test('a kubelet without an API server replies NoClient', async (t) => {
  const reply = await replyToPodObjects(t);
  assert.ok(reply.type === 'podObjects');
  assert.deepEqual(
    reply.results?.map((result) => result.outcome === 'failed' && result.failure.reason),
    ['NoClient', 'NoClient'],
  );
});

test('a failure of the handler is the result of every reference', async (t) => {
  const reply = await replyToPodObjects(t, () => Promise.reject(new KubeletError('Broken', 'it is broken')));
  assert.ok(reply.type === 'podObjects');
  assert.deepEqual(
    reply.results,
    refs.map(() => ({ outcome: 'failed', failure: { reason: 'Broken', message: 'it is broken' } })),
  );
});

const recordingHandlers = (calls: string[]): TaskHandlers => ({
  ensureImage: () => Promise.reject(new Error('unexpected request')),
  startPermit: () => Promise.reject(new Error('unexpected request')),
  tryStartPermit: (kind) => {
    calls.push(kind);
    return {
      release: (succeeded) => void calls.push(`released ${succeeded}`),
      transfer: () => void calls.push('transferred'),
      stopCounting: () => void calls.push('stopped counting'),
    };
  },
  event: () => {},
});
const aSync = (fields: object) =>
  ({ kind: 'sync', podUID: 'uid-1', status: null, dependenciesReady: true, ...fields }) as unknown as PodTask;

test('a pod that waits for nothing starts with its sandbox permit; an unused permit is released after the channel has closed', async () => {
  const calls: string[] = [];
  const channel = new TaskChannel(aSync({}), recordingHandlers(calls), silentLogger);
  assert.equal(channel.hasSandboxPermit, true);
  channel.close();
  channel.port.close();
  assert.deepEqual(calls, ['sandbox'], 'the receiver of the result has priority');
  await nextTurn();
  assert.deepEqual(calls, ['sandbox', 'released false']);
});

test('the last notifications of a task are handled before its permits are released', async () => {
  const calls: string[] = [];
  const channel = new TaskChannel(aSync({}), recordingHandlers(calls), silentLogger);
  channel.close([
    { type: 'transferPermit', id: sandboxPermitID },
    { type: 'releasePermit', id: sandboxPermitID, succeeded: true },
  ]);
  channel.port.close();
  await nextTurn();
  assert.deepEqual(calls, ['sandbox', 'transferred', 'released true']);
});

test('the permits of a stopped task stop counting immediately, and are released when the task has ended', async () => {
  const calls: string[] = [];
  const channel = new TaskChannel(aSync({}), recordingHandlers(calls), silentLogger);
  channel.stop(true);
  assert.deepEqual(calls, ['sandbox', 'stopped counting']);
  channel.close([{ type: 'releasePermit', id: sandboxPermitID, succeeded: false }]);
  channel.port.close();
  await nextTurn();
  assert.deepEqual(calls, ['sandbox', 'stopped counting', 'released false']);
});

for (const [what, fields] of [
  ['has its sandbox', { status: { sandboxes: [{ state: 'ready' }], containers: [] } }],
  ['has an old sandbox to stop first', { status: { sandboxes: [{ state: 'notReady' }], containers: [] } }],
  ['may have to wait for a secret', { dependenciesReady: false }],
] as const) {
  test(`a pod that ${what} gets no permit before it requests one`, () => {
    const calls: string[] = [];
    const channel = new TaskChannel(aSync(fields), recordingHandlers(calls), silentLogger);
    channel.close();
    channel.port.close();
    assert.deepEqual([channel.hasSandboxPermit, calls], [false, []]);
  });
}

test('the notification of mounted volumes reaches the handler with its pod', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  const channel = new TaskChannel(
    aSync({}),
    { ...recordingHandlers([]), volumesMounted: (names, { podUID }) => resolve([podUID, names]) },
    silentLogger,
  );
  channel.port.postMessage([{ type: 'volumesMounted', volumes: ['data'] }]);
  assert.deepEqual(await promise, ['uid-1', ['data']]);
  channel.close();
  channel.port.close();
});
