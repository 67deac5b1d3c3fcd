import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../../src/main/api/api-client.ts';
import {
  advanceReflector,
  classifyFailure,
  initialReflectorState,
  type ReflectorEvent,
  type ReflectorFailure,
  type ReflectorState,
} from '../../../../../src/main/api/reflector/reflector-state.ts';
import { table } from '../../../../support/table.ts';

const streaming: ReflectorState = initialReflectorState;
const watching: ReflectorState = { ...initialReflectorState, step: 'watch', resourceVersion: '100' };
const listing: ReflectorState = { ...initialReflectorState, step: 'list' };
const failed = (failure: ReflectorFailure): ReflectorEvent => ({ type: 'failed', failure });

const cases: readonly { name: string; from: ReflectorState; event: ReflectorEvent; want: string }[] = [
  { name: 'a refused stream falls back to a list at once', from: streaming, event: failed('refused'), want: 'list now' },
  {
    name: 'a broken stream falls back to a list after a back-off',
    from: streaming,
    event: failed('broken'),
    want: 'list later',
  },
  { name: 'an unreachable server is streamed again after a back-off', from: streaming, event: failed('unreachable'), want: 'stream later' },
  { name: 'a throttled stream is retried after a back-off', from: streaming, event: failed('throttled'), want: 'stream later' },
  {
    name: 'initial events that do not end fall back to a list at once',
    from: streaming,
    event: { type: 'initialEventsTimedOut' },
    want: 'list now',
  },
  {
    name: 'a stream that ends early falls back to a list after a back-off',
    from: streaming,
    event: { type: 'closed', isEmpty: false },
    want: 'list later',
  },
  { name: 'a synced stream continues as a watch', from: streaming, event: { type: 'synced', resourceVersion: '7' }, want: 'watch now' },
  { name: 'a list is followed by a watch', from: listing, event: { type: 'synced', resourceVersion: '7' }, want: 'watch now' },
  { name: 'a failed list is retried as a stream', from: listing, event: failed('broken'), want: 'stream later' },
  { name: 'a watch closed by the server is resumed at once', from: watching, event: { type: 'closed', isEmpty: false }, want: 'watch now' },
  {
    name: 'a watch closed without an event is resumed after a back-off',
    from: watching,
    event: { type: 'closed', isEmpty: true },
    want: 'watch later',
  },
  { name: 'an expired version restarts the stream at once', from: watching, event: failed('expired'), want: 'stream now' },
  {
    name: 'a version that expires right after a restart waits for a back-off',
    from: { ...watching, hasJustRestarted: true },
    event: failed('expired'),
    want: 'stream later',
  },
  { name: 'a version that went back restarts the stream at once', from: watching, event: { type: 'versionWentBack' }, want: 'stream now' },
  {
    name: 'an idle watch is resumed at its version',
    from: watching,
    event: { type: 'idle' },
    want: 'watch now',
  },
  { name: 'a throttled watch is resumed after a back-off', from: watching, event: failed('throttled'), want: 'watch later' },
  {
    name: 'an unreachable server restarts the stream, because it may be another cluster',
    from: watching,
    event: failed('unreachable'),
    want: 'stream later',
  },
  { name: 'a broken watch is resumed at its version', from: watching, event: failed('broken'), want: 'watch later' },
  {
    name: 'a watch that breaks three times at one version restarts the stream',
    from: { ...watching, failedWatches: 2 },
    event: failed('broken'),
    want: 'stream later',
  },
];
table('the reflector advances by state and event', (row) => {
  for (const { name, from, event, want } of cases) {
    row(`reflector: ${name}`, () => {
      const { state, wait } = advanceReflector(from, event);
      assert.equal(`${state.step} ${wait === 'no' ? 'now' : 'later'}`, want);
    });
  }
});

test('reflector: an event updates the version and resets the count of failures', () => {
  const { state } = advanceReflector(
    { ...watching, failedWatches: 2, hasJustRestarted: true },
    { type: 'versionObserved', resourceVersion: '101' },
  );
  assert.deepEqual(state, { step: 'watch', resourceVersion: '101', failedWatches: 0, hasJustRestarted: false });
});

const failures: readonly { err: unknown; want: ReflectorFailure }[] = [
  { err: new ApiError(410, 'Expired', 'too old'), want: 'expired' },
  { err: new ApiError(429, 'TooManyRequests', 'later'), want: 'throttled' },
  { err: new ApiError(0, 'Unreachable', 'refused'), want: 'unreachable' },
  { err: new ApiError(0, 'Timeout', 'silent'), want: 'unreachable' },
  { err: new ApiError(422, 'Invalid', 'sendInitialEvents is forbidden'), want: 'refused' },
  { err: new ApiError(403, 'Forbidden', 'no'), want: 'refused' },
  { err: new ApiError(500, 'InternalError', 'oh'), want: 'broken' },
  { err: new ApiError(0, 'Unreadable', 'ended in the middle of an event'), want: 'broken' },
  { err: new ApiError(0, 'Unauthorized', 'the token file is empty'), want: 'unreachable' },
  { err: new ApiError(0, 'TooManyRequests', 'too many calls wait'), want: 'throttled' },
  { err: new Error('not a list'), want: 'broken' },
];
table('the reflector classifies failures', (row) => {
  for (const { err, want } of failures) row(`reflector: ${String(err)} is ${want}`, () => assert.equal(classifyFailure(err), want));
});
