import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../../src/main/api/api-client.ts';
import {
  advance,
  failureOf,
  initialState,
  type ReflectorEvent,
  type ReflectorFailure,
  type ReflectorState,
} from '../../../../../src/main/api/reflector/reflector-state.ts';
import { table } from '../../../../support/table.ts';

const streaming: ReflectorState = initialState;
const watching: ReflectorState = { ...initialState, step: 'watch', resourceVersion: '100' };
const listing: ReflectorState = { ...initialState, step: 'list' };
const failed = (failure: ReflectorFailure): ReflectorEvent => ({ type: 'failed', failure });

const cases: readonly { name: string; from: ReflectorState; event: ReflectorEvent; want: string }[] = [
  { name: 'a server that refuses to stream is asked for a list at once', from: streaming, event: failed('refused'), want: 'list now' },
  {
    name: 'a server that breaks while it streams is asked for a list, later',
    from: streaming,
    event: failed('broken'),
    want: 'list later',
  },
  { name: 'an unreachable server is asked to stream again, later', from: streaming, event: failed('unreachable'), want: 'stream later' },
  { name: 'a busy server is asked to stream again, later', from: streaming, event: failed('throttled'), want: 'stream later' },
  {
    name: 'initial events that do not end give way to a list',
    from: streaming,
    event: { type: 'initialEventsTimedOut' },
    want: 'list now',
  },
  {
    name: 'a stream that ends too early gives way to a list',
    from: streaming,
    event: { type: 'closed', isEmpty: false },
    want: 'list later',
  },
  { name: 'after a sync it watches', from: streaming, event: { type: 'synced', resourceVersion: '7' }, want: 'watch now' },
  { name: 'after a list it watches', from: listing, event: { type: 'synced', resourceVersion: '7' }, want: 'watch now' },
  { name: 'a list that fails is tried as a stream again', from: listing, event: failed('broken'), want: 'stream later' },
  { name: 'a watch that the server ended goes on at once', from: watching, event: { type: 'closed', isEmpty: false }, want: 'watch now' },
  { name: 'a watch that ends without a line goes on later', from: watching, event: { type: 'closed', isEmpty: true }, want: 'watch later' },
  { name: 'an expired version means reading afresh, at once', from: watching, event: failed('expired'), want: 'stream now' },
  {
    name: 'a version that expires right after reading afresh waits',
    from: { ...watching, hasJustRestarted: true },
    event: failed('expired'),
    want: 'stream later',
  },
  { name: 'a server that went back is read afresh', from: watching, event: { type: 'versionWentBack' }, want: 'stream now' },
  {
    name: 'a watch that says nothing for too long is begun again where it was',
    from: watching,
    event: { type: 'idle' },
    want: 'watch now',
  },
  { name: 'a busy server is watched again, later', from: watching, event: failed('throttled'), want: 'watch later' },
  {
    name: 'a server that could not be reached is read afresh: it may be another one',
    from: watching,
    event: failed('unreachable'),
    want: 'stream later',
  },
  { name: 'a watch that breaks goes on from where it was', from: watching, event: failed('broken'), want: 'watch later' },
  {
    name: 'a watch that breaks three times at one place is read afresh',
    from: { ...watching, failedWatches: 2 },
    event: failed('broken'),
    want: 'stream later',
  },
];
table('the reflector does what its state and the event ask for', (row) => {
  for (const { name, from, event, want } of cases) {
    row(`reflector: ${name}`, () => {
      const { state, wait } = advance(from, event);
      assert.equal(`${state.step} ${wait === 'no' ? 'now' : 'later'}`, want);
    });
  }
});

test('reflector: a line moves the version on and forgets the failures before it', () => {
  const { state } = advance({ ...watching, failedWatches: 2, hasJustRestarted: true }, { type: 'versionObserved', resourceVersion: '101' });
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
table('the reflector tells the kinds of failures apart', (row) => {
  for (const { err, want } of failures) row(`reflector: ${String(err)} is ${want}`, () => assert.equal(failureOf(err), want));
});
