/**
 * What a reflector does next, as a pure machine (upstream: client-go tools/cache Reflector).
 *
 *   stream ──initial events ended──▶ watch ──closed, failed──▶ watch again from the last resource version
 *     │ ▲                            ▲ │
 *   refused └── expired, went back, ─│─┘
 *     │         connection lost      │
 *     └──▶ list ───────listed────────┘
 *
 *  - Whatever is taken whole (stream, list) is read at the most recent version, so that it never shows a past in which a deleted pod
 *    is there again, and never asks a new cluster for a version that only the old one had.
 *  - Watching is resumed where it ended, so nothing is lost; after three failures at one place everything is taken afresh, since what is
 *    there may be what can't be read.
 *  - Where the connection was lost, the server that is found next may be another cluster (its etcd was emptied). It takes a watch from
 *    our version and is silent about all that it has before that one; so everything is taken afresh then, too. That costs one stream of
 *    one node's objects. Versions that go back under a server that stays are told by its bookmarks, after a minute.
 */
import { ApiError, isExpired } from '../api-client.ts';

export interface ReflectorState {
  readonly step: 'stream' | 'list' | 'watch';
  /** The last that was seen; empty before the first sync. */
  readonly resourceVersion: string;
  /** Watches in a row that failed without a line. */
  readonly failedWatches: number;
  /** Everything was taken afresh, and no line has come since: doing it again at once would be a loop. */
  readonly hasJustRestarted: boolean;
}

export type ReflectorEvent =
  /** A line of the watch, or a bookmark. */
  | { readonly type: 'seen'; readonly resourceVersion: string }
  /** All objects are known, at this version. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The server ended the watch. `isEmpty`: at once, without a line. */
  | { readonly type: 'closed'; readonly isEmpty: boolean }
  /** The initial events did not end, and nothing came for too long: a server that does not know how to send them. */
  | { readonly type: 'silent' }
  /** The watch says nothing for longer than it should: it may be dead, and nobody tells. */
  | { readonly type: 'quiet' }
  /** The server's version now is older than ours. */
  | { readonly type: 'wentBack' }
  | { readonly type: 'failed'; readonly failure: ReflectorFailure };

/** `refused`: this request is not one that the server takes. `broken`: the server or its answer is at fault. */
export type ReflectorFailure = 'expired' | 'unreachable' | 'throttled' | 'refused' | 'broken';

export interface Transition {
  readonly state: ReflectorState;
  readonly wait: 'no' | 'backOff';
}

export const initialState: ReflectorState = { step: 'stream', resourceVersion: '', failedWatches: 0, hasJustRestarted: false };

/** After so many fruitless watches in a row everything is taken afresh. */
const maxFailedWatches = 3;

export function advance(state: ReflectorState, event: ReflectorEvent): Transition {
  switch (event.type) {
    case 'seen': {
      const { resourceVersion } = event;
      return { state: { ...state, resourceVersion, failedWatches: 0, hasJustRestarted: false }, wait: 'no' };
    }
    case 'synced':
      return { state: { ...state, step: 'watch', resourceVersion: event.resourceVersion, failedWatches: 0 }, wait: 'no' };
    case 'closed':
      if (state.step === 'stream') return { state: { ...state, step: 'list' }, wait: 'backOff' };
      return { state, wait: event.isEmpty ? 'backOff' : 'no' };
    case 'quiet':
      return { state, wait: 'no' };
    case 'silent':
      return { state: { ...state, step: 'list' }, wait: 'no' };
    case 'wentBack':
      return restartFromStream(state);
    case 'failed':
      return afterFailure(state, event.failure);
    default:
      return event satisfies never;
  }
}

function afterFailure(state: ReflectorState, failure: ReflectorFailure): Transition {
  const backOffTo = (step: ReflectorState['step']): Transition => ({ state: { ...state, step }, wait: 'backOff' });
  switch (state.step) {
    case 'stream':
      if (failure === 'refused') return { state: { ...state, step: 'list' }, wait: 'no' };
      return backOffTo(failure === 'unreachable' || failure === 'throttled' ? 'stream' : 'list');
    case 'list':
      return backOffTo('stream');
    case 'watch': {
      if (failure === 'expired') return restartFromStream(state);
      if (failure === 'throttled') return backOffTo('watch');
      if (failure === 'unreachable') return backOffTo('stream');
      const failedWatches = state.failedWatches + 1;
      if (failedWatches < maxFailedWatches) return { state: { ...state, failedWatches }, wait: 'backOff' };
      return { state: { ...state, step: 'stream', failedWatches: 0 }, wait: 'backOff' };
    }
    default:
      return state.step satisfies never;
  }
}

function restartFromStream(state: ReflectorState): Transition {
  return { state: { ...state, step: 'stream', failedWatches: 0, hasJustRestarted: true }, wait: state.hasJustRestarted ? 'backOff' : 'no' };
}

export function failureOf(err: unknown): ReflectorFailure {
  if (isExpired(err)) return 'expired';
  if (!(err instanceof ApiError)) return 'broken';
  // Also our own client says so, when too much waits in it.
  if (err.code === 429 || err.reason === 'TooManyRequests') return 'throttled';
  if (err.code === 0) return err.reason === 'Unreadable' ? 'broken' : 'unreachable';
  return err.code >= 400 && err.code < 500 ? 'refused' : 'broken';
}
