/**
 * Decides the next step of a reflector, as a pure state machine (upstream: client-go tools/cache Reflector).
 *
 *   stream ──initial events ended──▶ watch ──closed, failed──▶ watch again from the last resource version
 *     │ ▲                            ▲ │
 *   refused └── expired, went back, ─│─┘
 *     │         connection lost      │
 *     └──▶ list ───────listed────────┘
 *
 *  - A stream and a list are read at the most recent version. They never show an older state in which a deleted pod still exists, and never
 *    ask a new cluster for a version that only the old cluster had.
 *  - A watch resumes where the last one ended, so no change is lost. After three failures at one version everything is read again, since the
 *    event at that version may be the unreadable one.
 *  - After a lost connection the server may be another cluster (its etcd was emptied). That server accepts a watch from the old version and
 *    sends nothing about the objects that it had before, so everything is read again. This costs one stream of one node's objects. The
 *    bookmarks of a server that stays connected show within a minute that its versions went back.
 */
import { ApiError, isExpired, isTooLarge } from '../api-client.ts';

export interface ReflectorState {
  readonly step: 'stream' | 'list' | 'watch';
  /** The last observed version. Empty before the first sync. */
  readonly resourceVersion: string;
  /** The number of consecutive watches that failed without an event. */
  readonly failedWatches: number;
  /** True from a restart of the stream until the next event. A second restart then waits, which prevents a busy loop. */
  readonly hasJustRestarted: boolean;
}

export type ReflectorEvent =
  /** A change or a bookmark was received. */
  | { readonly type: 'versionObserved'; readonly resourceVersion: string }
  /** All objects are known at this version. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The server ended the watch. `isEmpty`: within a second and without an event. */
  | { readonly type: 'closed'; readonly isEmpty: boolean }
  /** The initial events stopped before their end. The server does not support sendInitialEvents. */
  | { readonly type: 'initialEventsTimedOut' }
  /** The watch received nothing for the idle timeout. Its connection may be dead. */
  | { readonly type: 'idle' }
  /** The server's version is older than the last observed one. */
  | { readonly type: 'versionWentBack' }
  | { readonly type: 'failed'; readonly failure: ReflectorFailure };

/** `refused`: the server rejects this kind of request. `broken`: the server failed or its response is malformed. */
export type ReflectorFailure = 'expired' | 'unreachable' | 'throttled' | 'refused' | 'broken';

export interface Transition {
  readonly state: ReflectorState;
  readonly wait: 'no' | 'backOff';
}

export const initialReflectorState: ReflectorState = { step: 'stream', resourceVersion: '', failedWatches: 0, hasJustRestarted: false };

/** After this many failed watches in a row everything is read again. */
const maxFailedWatches = 3;

/** Returns the next step, and whether the reflector backs off before it. */
export function advanceReflector(state: ReflectorState, event: ReflectorEvent): Transition {
  switch (event.type) {
    case 'versionObserved': {
      const { resourceVersion } = event;
      return { state: { ...state, resourceVersion, failedWatches: 0, hasJustRestarted: false }, wait: 'no' };
    }
    case 'synced':
      return { state: { ...state, step: 'watch', resourceVersion: event.resourceVersion, failedWatches: 0 }, wait: 'no' };
    case 'closed':
      if (state.step === 'stream') return { state: { ...state, step: 'list' }, wait: 'backOff' };
      return { state, wait: event.isEmpty ? 'backOff' : 'no' };
    case 'idle':
      return { state, wait: 'no' };
    case 'initialEventsTimedOut':
      return { state: { ...state, step: 'list' }, wait: 'no' };
    case 'versionWentBack':
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

export function classifyFailure(err: unknown): ReflectorFailure {
  if (isExpired(err)) return 'expired';
  if (!(err instanceof ApiError)) return 'broken';
  // The client itself also rejects calls with TooManyRequests when its queue is full.
  if (err.code === 429 || err.reason === 'TooManyRequests') return 'throttled';
  if (err.code === 0) return err.reason === 'Unreadable' || isTooLarge(err) ? 'broken' : 'unreachable';
  return err.code >= 400 && err.code < 500 ? 'refused' : 'broken';
}
