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

/** What main answers to a task that asks for values. */
async function answer(t: TestContext, values?: NonNullable<TaskHandlers['podObjects']>): Promise<MessageToTask> {
  const handlers: TaskHandlers = {
    ensureImage: () => Promise.reject(new Error('not asked for')),
    startPermit: () => Promise.reject(new Error('not asked for')),
    event: () => {},
    ...(values && { podObjects: values }),
  };
  const line = new TaskChannel(task, handlers, silentLogger);
  t.after(() => {
    line.close();
    line.port.close();
  });
  line.port.postMessage([{ type: 'podObjects', id: 7, refs }]);
  const [reply] = (await once(line.port, 'message')) as [MessageToTask];
  return reply;
}

test('a task that asks for values is answered with one for each, in order', async (t) => {
  const reply = await answer(t, async (asked, by) => {
    assert.deepEqual([asked, by], [refs, task]);
    return asked.map(({ kind }) => ({ outcome: 'failed', failure: { reason: kind, message: '' } }));
  });
  assert.deepEqual(reply, {
    type: 'podObjects',
    id: 7,
    results: [
      { outcome: 'failed', failure: { reason: 'Secret', message: '' } },
      { outcome: 'failed', failure: { reason: 'Services', message: '' } },
    ],
  });
});

test('a kubelet without an API server answers that it has none', async (t) => {
  const reply = await answer(t);
  assert.ok(reply.type === 'podObjects');
  assert.deepEqual(
    reply.results.map((result) => result.outcome === 'failed' && result.failure.reason),
    ['NoClient', 'NoClient'],
  );
});

test('a handler that fails fails every value', async (t) => {
  const reply = await answer(t, () => Promise.reject(new KubeletError('Broken', 'it is broken')));
  assert.ok(reply.type === 'podObjects');
  assert.deepEqual(
    reply.results,
    refs.map(() => ({ outcome: 'failed', failure: { reason: 'Broken', message: 'it is broken' } })),
  );
});

const granting = (granted: string[]): TaskHandlers => ({
  ensureImage: () => Promise.reject(new Error('not asked for')),
  startPermit: () => Promise.reject(new Error('not asked for')),
  tryStartPermit: (kind) => {
    granted.push(kind);
    return {
      release: (succeeded) => void granted.push(`released ${succeeded}`),
      transfer: () => void granted.push('passed on'),
      stopCounting: () => void granted.push('set aside'),
    };
  },
  event: () => {},
});
const aSync = (fields: object) =>
  ({ kind: 'sync', podUID: 'uid-1', status: null, dependenciesReady: true, ...fields }) as unknown as PodTask;

test('a pod that need not wait for its values brings the permit for its sandbox along; unused, it goes back after the line', async () => {
  const granted: string[] = [];
  const line = new TaskChannel(aSync({}), granting(granted), silentLogger);
  assert.equal(line.hasSandboxPermit, true);
  line.close();
  line.port.close();
  assert.deepEqual(granted, ['sandbox'], 'who waits for the result goes first');
  await nextTurn();
  assert.deepEqual(granted, ['sandbox', 'released false']);
});

test('what a task told last is heard before what it held is taken back', async () => {
  const granted: string[] = [];
  const line = new TaskChannel(aSync({}), granting(granted), silentLogger);
  line.close([
    { type: 'transferPermit', id: sandboxPermitID },
    { type: 'releasePermit', id: sandboxPermitID, succeeded: true },
  ]);
  line.port.close();
  await nextTurn();
  assert.deepEqual(granted, ['sandbox', 'passed on', 'released true']);
});

test('what a task holds when it is told to stop is set aside at once, and given back when it has ended', async () => {
  const granted: string[] = [];
  const line = new TaskChannel(aSync({}), granting(granted), silentLogger);
  line.stop(true);
  assert.deepEqual(granted, ['sandbox', 'set aside']);
  line.close([{ type: 'releasePermit', id: sandboxPermitID, succeeded: false }]);
  line.port.close();
  await nextTurn();
  assert.deepEqual(granted, ['sandbox', 'set aside', 'released false']);
});

for (const [what, fields] of [
  ['has its sandbox', { status: { sandboxes: [{ state: 'ready' }], containers: [] } }],
  ['has an old sandbox to be ended before', { status: { sandboxes: [{ state: 'notReady' }], containers: [] } }],
  ['may have to wait for a secret', { dependenciesReady: false }],
] as const) {
  test(`a pod that ${what} gets no permit before it asks`, () => {
    const granted: string[] = [];
    const line = new TaskChannel(aSync(fields), granting(granted), silentLogger);
    line.close();
    line.port.close();
    assert.deepEqual([line.hasSandboxPermit, granted], [false, []]);
  });
}

test('which volumes a task has set up is heard with its pod', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  const line = new TaskChannel(
    aSync({}),
    { ...granting([]), volumesMounted: (names, { podUID }) => resolve([podUID, names]) },
    silentLogger,
  );
  line.port.postMessage([{ type: 'volumesMounted', volumes: ['data'] }]);
  assert.deepEqual(await promise, ['uid-1', ['data']]);
  line.close();
  line.port.close();
});
