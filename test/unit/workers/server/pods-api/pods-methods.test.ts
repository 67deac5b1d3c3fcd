import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PodChanges, PodState } from '../../../../../src/shared/contracts/server/pods.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { GetPodRequest, GetPodResponse, ListPodsResponse } from '../../../../../src/workers/server/pods-api/generated/pods-v1alpha1.ts';
import { PodMirror, podsMethods } from '../../../../../src/workers/server/pods-api/index.ts';
import { decodePod } from '../../../../support/grpc/decode-pod.ts';
import { decodeEvent } from '../../../../support/grpc/pods-api-client.ts';
import { aLogger } from '../../../../support/logger.ts';

const uidOf = (name: string) => `uid-${name}` as PodUID;
const aState = (name: string, fields: object = {}, over: Partial<PodState> = {}): PodState => ({
  uid: uidOf(name),
  namespace: 'ns',
  name,
  json: JSON.stringify({ metadata: { name, namespace: 'ns', uid: uidOf(name) }, status: { phase: 'Running' }, ...fields }),
  hasStatus: true,
  isFinished: false,
  ...over,
});
const labelled = (name: string, state: string, resourceVersion = '1') =>
  aState(name, { metadata: { name, namespace: 'ns', uid: uidOf(name), labels: { state }, resourceVersion } });

/** The pods API with a main thread that sends what the test gives it. */
function anApi(nowMs = () => 0) {
  const waiting: ((changes: PodChanges) => void)[] = [];
  let fail: (err: Error) => void = () => {};
  const cursors: (number | null)[] = [];
  const changes = (cursor: number | null) => {
    cursors.push(cursor);
    return new Promise<PodChanges>((resolve, reject) => {
      waiting.push(resolve);
      fail = reject;
    });
  };
  const methods = podsMethods(new PodMirror({ changes, logger: aLogger().logger, nowMs }));
  const send = async (over: Partial<PodChanges>) => {
    while (waiting.length === 0) await nextIteration();
    waiting.pop()?.({ cursor: 1, isStart: cursors.at(-1) === null, isComplete: true, sourcesReady: true, pods: [], removed: [], ...over });
    await nextIteration();
    await nextIteration();
  };
  const unary = (name: string, request = new Uint8Array()) => {
    const method = methods[`/v1alpha1.Pods/${name}`];
    assert.ok(method?.kind === 'unary');
    return method.handle(request);
  };
  const list = async () => ListPodsResponse.decode(await unary('ListPods')).pods.map((pod) => decodePod(pod).metadata.name);
  const watch = (isReading = true) => {
    const method = methods['/v1alpha1.Pods/WatchPods'];
    assert.ok(method?.kind === 'stream');
    const [seen, ended] = [[] as string[], new AbortController()];
    let read = () => {};
    const reading = isReading ? Promise.resolve() : new Promise<void>((resolve) => (read = resolve));
    const stream = {
      ended: ended.signal,
      send: async (message: Uint8Array) => {
        await reading;
        const { type, pod } = decodeEvent(message);
        seen.push([type, pod?.metadata.name, pod?.metadata.labels?.['state']].filter(Boolean).join(' '));
      },
    };
    const failure = method.handle(new Uint8Array(), stream).then(
      () => 'none',
      (err: Error & { code?: number }) => `${err.code} ${err.message}`,
    );
    return { seen, failure, end: () => ended.abort(), read: () => read() };
  };
  return { send, unary, list, watch, cursors, fail: (err: Error) => fail(err) };
}

test('lists and returns pods without another question to the main thread', async () => {
  const { send, list, unary, cursors } = anApi();
  const first = list();
  await send({ pods: [aState('b'), aState('a')], isComplete: false });
  await send({ pods: [aState('c')] });
  assert.deepEqual(await first, ['a', 'b', 'c']);
  await send({ pods: [aState('d')], removed: [uidOf('a')] });
  assert.deepEqual(await list(), ['b', 'c', 'd']);
  const { pod } = GetPodResponse.decode(await unary('GetPod', GetPodRequest.encode({ podUID: 'uid-d' }).finish()));
  assert.equal(decodePod(pod).status?.phase, 'Running');
  await assert.rejects(unary('GetPod', GetPodRequest.encode({ podUID: 'uid-a' }).finish()), {
    code: 5,
    message: 'pod with UID uid-a not found',
  });
  assert.deepEqual(cursors, [null, 1, 1, 1]);
});

test('refuses calls until all sources have reported', async () => {
  const { send, list } = anApi();
  const refused = assert.rejects(list(), { code: 9, message: 'Kubelet is initializing' });
  await send({ sourcesReady: false });
  await refused;
  await send({ pods: [aState('a')] });
  assert.deepEqual(await list(), ['a']);
});

test('a watch begins with all pods, and follows each to its end', async () => {
  const { send, watch } = anApi();
  const { seen, failure, end } = watch();
  await send({ pods: [aState('a'), aState('unsynced', {}, { hasStatus: false })] });
  await send({ pods: [labelled('b', '1'), labelled('a', '1')] });
  await send({ pods: [labelled('b', '2', '2')] });
  await send({ pods: [labelled('b', '2', '3')] });
  await send({ pods: [{ ...labelled('b', '2', '3'), isFinished: true }] });
  await send({ pods: [{ ...labelled('b', '3', '4'), isFinished: true }], removed: [uidOf('a')] });
  await send({ removed: [uidOf('b')] });
  await send({ pods: [labelled('unsynced', '1')] });
  assert.deepEqual(seen, [
    'ADDED a',
    'ADDED unsynced',
    'INITIAL_SYNC_COMPLETE',
    'ADDED b 1',
    'MODIFIED a 1',
    'MODIFIED b 2',
    'DELETED b',
    'DELETED a',
    'MODIFIED unsynced 1',
  ]);
  end();
  assert.equal(await failure, '1 context canceled');
});

test('a client that does not read loses its watch after 100 events, and no other does', async () => {
  const { send, watch } = anApi();
  const [slow, fast] = [watch(false), watch()];
  await send({ pods: [aState('a')] });
  for (let index = 0; index < 100; index += 1) await send({ pods: [labelled('a', String(index))] });
  assert.equal(fast.seen.length, 102);
  await send({ pods: [labelled('a', 'last')] });
  slow.read();
  assert.equal(await slow.failure, '8 watch client channel closed');
  assert.deepEqual([slow.seen.length, fast.seen.at(-1)], [1, 'MODIFIED a last']);
  fast.end();
});

test('when the main thread does not answer, calls and watches fail, and the next call starts again', async () => {
  const { send, list, watch, fail, cursors } = anApi();
  const { failure } = watch();
  await send({ pods: [aState('a')] });
  fail(new Error('no answer'));
  assert.equal(await failure, '14 no answer');
  const next = list();
  await send({ pods: [aState('b')] });
  assert.deepEqual(await next, ['b']);
  assert.deepEqual(cursors, [null, 1, null, 1]);
});

test('a pod that cannot be encoded costs only itself', async () => {
  const { send, list } = anApi();
  const first = list();
  await send({ pods: [{ ...aState('a'), json: 'no JSON' }, aState('b')] });
  assert.deepEqual(await first, ['b']);
});

test('half a minute without a client ends the questions to the main thread', async () => {
  let nowMs = 0;
  const { send, list, watch, cursors } = anApi(() => nowMs);
  const first = list();
  await send({ pods: [aState('a')] });
  assert.deepEqual(await first, ['a']);
  const { end, failure } = watch();
  nowMs = 40_000;
  await send({});
  assert.deepEqual(cursors, [null, 1, 1]);
  end();
  await failure;
  nowMs = 80_000;
  await send({});
  assert.deepEqual(cursors, [null, 1, 1]);
  const second = list();
  await send({ pods: [aState('b')] });
  assert.deepEqual([await second, cursors], [['b'], [null, 1, 1, null, 1]]);
});
